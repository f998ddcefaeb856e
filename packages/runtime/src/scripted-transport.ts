/**
 * A layer on the wire for tests: rules that match requests and answer, delay, drop or hold them; everything else goes to the
 * transport beneath. It never invents state: what it answers is what the script says, what it lets through is real.
 */
import { ConnectionBroken } from './api-error.ts'
import type { Clock } from './clock.ts'
import { aborted } from './linked-signal.ts'
import type { ApiRequest, ApiResponse, Transport } from './transport.ts'

export type RequestMatch = {
  method?: ApiRequest['method']
  /** The whole path, or a pattern in it. */
  path?: string | RegExp
  query?: Readonly<Record<string, string | RegExp>>
  contentType?: string
  /** Anything else. */
  where?: (request: ApiRequest) => boolean
}

export type Recorded = {
  request: ApiRequest
  /** Of a stream: what it opened with. Absent while under way. */
  response?: ApiResponse
  error?: unknown
  /** No rule had it: the answer is the server's. */
  isReal: boolean
  isStream: boolean
}

/** A rule that stands in the script. */
export type Rule = {
  /** How often it acted. */
  readonly count: number
  /** Takes it out; what it holds is let go. */
  remove(): void
}

export type HeldRule = Rule & {
  /** Resolves when the n-th request (1 by default) has come. */
  arrived(n?: number): Promise<ApiRequest>
  /** Lets all that is held, and all that follows, go on. */
  release(): void
}

export type RuleOptions = {
  /** How often the rule acts (default 1). */
  times?: number
  /** How many matching requests it lets by first. */
  skip?: number
}

export type AnswerSource =
  | ApiResponse
  | ((request: ApiRequest, real: () => Promise<ApiResponse>) => ApiResponse | Promise<ApiResponse>)

/** What to do with the requests that match. */
export type When = {
  /** Answers in place of the server. A function may ask the server itself, before or instead. */
  answer(answer: AnswerSource): Rule
  /** The request never arrives: the connection breaks first. */
  dropBefore(): Rule
  /** The server does it, then the connection breaks before its answer. */
  dropAfter(): Rule
  /** The request waits, before it is sent, until released. */
  hold(): HeldRule
  /** The server does it at once; its answer waits until released. */
  holdAnswer(): HeldRule
  /** The request waits for so long, on the script's clock. */
  delay(ms: number): Rule
  /** A watch opened with 200 that yields these lines; ends with them, or breaks after them, or stays open. */
  stream(lines: Iterable<string> | AsyncIterable<string>, end?: 'ends' | 'breaks' | 'stays'): Rule
}

export type ScriptedTransport = Transport & {
  on(match: RequestMatch, options?: RuleOptions): When
  /** All requests so far, in the order of their start. */
  readonly requests: readonly Recorded[]
  /** The requests so far that match. */
  sent(match: RequestMatch): readonly Recorded[]
  /** Takes all rules out and lets go what they hold. */
  reset(): void
}

type Act = (request: ApiRequest, signal: AbortSignal, real: () => Promise<ApiResponse>) => Promise<ApiResponse>
type ActOnStream = (request: ApiRequest, signal: AbortSignal) => Promise<{ opened: ApiResponse; lines: AsyncIterable<string> }>
type Scripted = {
  match: RequestMatch
  left: number
  skip: number
  count: number
  act: Act
  stream?: ActOnStream
  release(): void
}

function fits(wanted: string | RegExp, found: string | undefined): boolean {
  if (found === undefined) return false
  return typeof wanted === 'string' ? wanted === found : wanted.test(found)
}

/** Whether a request is one that `match` describes. */
export function matches(match: RequestMatch, request: ApiRequest): boolean {
  if (match.method !== undefined && match.method !== request.method) return false
  if (match.path !== undefined && !fits(match.path, request.path)) return false
  if (match.contentType !== undefined && match.contentType !== request.contentType) return false
  const query = Object.entries(match.query ?? {})
  if (!query.every(([name, wanted]) => fits(wanted, request.query?.[name]))) return false
  return match.where?.(request) ?? true
}

async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted()
  return Promise.race([promise, aborted(signal).then(() => Promise.reject(signal.reason))])
}

function reset(request: ApiRequest): ConnectionBroken {
  return new ConnectionBroken(request, Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }))
}

async function* linesThen(
  request: ApiRequest,
  lines: Iterable<string> | AsyncIterable<string>,
  end: string,
  signal: AbortSignal,
) {
  yield* lines
  if (end === 'breaks') throw reset(request)
  if (end === 'stays') {
    await aborted(signal)
    throw signal.reason
  }
}

const noServer: Transport = {
  send: async (request) => {
    throw new Error(`not in the script: ${request.method} ${request.path}`)
  },
  stream: async (request) => {
    throw new Error(`not in the script: watch ${request.path}`)
  },
  close: async () => {},
}

/** Puts a script over `inner`; without one every request must be in the script. Rules added later come first. */
export function scriptTransport(inner: Transport = noServer, options: { clock?: Clock } = {}): ScriptedTransport {
  const rules: Scripted[] = []
  const requests: Recorded[] = []

  function take(request: ApiRequest, isStream: boolean): Scripted | undefined {
    for (const rule of rules) {
      if (rule.left <= 0 || !matches(rule.match, request) || (isStream && !rule.stream)) continue
      if (rule.skip > 0) {
        rule.skip -= 1
        continue
      }
      rule.left -= 1
      rule.count += 1
      return rule
    }
    return undefined
  }

  function addRule(
    match: RequestMatch,
    { times = 1, skip = 0 }: RuleOptions,
    act: Act,
    stream?: ActOnStream,
    release = () => {},
  ): Rule {
    const rule: Scripted = { match, left: times, skip, count: 0, act, release, ...(stream ? { stream } : {}) }
    rules.unshift(rule)
    return {
      get count() {
        return rule.count
      },
      remove() {
        rules.splice(rules.indexOf(rule), 1)
        release()
      },
    }
  }

  function addHold(match: RequestMatch, ruleOptions: RuleOptions, isAnswer: boolean): HeldRule {
    const gate = Promise.withResolvers<void>()
    const come: ApiRequest[] = []
    const waiting: { n: number; resolve: (request: ApiRequest) => void }[] = []
    const arrive = (request: ApiRequest) => {
      const n = come.push(request)
      for (const each of waiting) if (each.n === n) each.resolve(request)
    }
    const act: Act = async (request, signal, real) => {
      const early = isAnswer ? await real() : undefined
      arrive(request)
      await unlessAborted(gate.promise, signal)
      return early ?? real()
    }
    const open: ActOnStream = async (request, signal) => {
      arrive(request)
      await unlessAborted(gate.promise, signal)
      return inner.stream(request, signal)
    }
    const rule = addRule(match, ruleOptions, act, open, () => gate.resolve())
    const arrived = (n = 1) => {
      const early = come[n - 1]
      if (early) return Promise.resolve(early)
      return new Promise<ApiRequest>((resolve) => waiting.push({ n, resolve }))
    }
    return Object.defineProperties({ arrived, release: () => gate.resolve(), remove: rule.remove } as HeldRule, {
      count: { get: () => rule.count },
    })
  }

  function on(match: RequestMatch, ruleOptions: RuleOptions = {}): When {
    const add = (act: Act, stream?: ActOnStream) => addRule(match, ruleOptions, act, stream)
    const broken: ActOnStream = async (request) => {
      throw reset(request)
    }
    return {
      answer: (answer) =>
        add(
          async (request, _, real) => (typeof answer === 'function' ? answer(request, real) : answer),
          async (request, signal) => {
            const opened = typeof answer === 'function' ? await answer(request, () => inner.send(request, signal)) : answer
            return { opened, lines: linesThen(request, [], 'ends', signal) }
          },
        ),
      dropBefore: () =>
        add(async (request) => {
          throw reset(request)
        }, broken),
      dropAfter: () =>
        add(async (request, _, real) => {
          await real()
          throw reset(request)
        }, broken),
      hold: () => addHold(match, ruleOptions, false),
      holdAnswer: () => addHold(match, ruleOptions, true),
      delay: (ms) =>
        add(async (_, signal, real) => {
          if (!options.clock) throw new Error('a delay needs the script to have a clock')
          await options.clock.sleep(ms, signal)
          return real()
        }),
      stream: (lines, end = 'ends') =>
        add(
          async (request) => {
            throw new Error(`scripted as a watch: ${request.path}`)
          },
          async (request, signal) => {
            const opened = { status: 200, headers: {}, body: undefined }
            return { opened, lines: linesThen(request, lines, end, signal) }
          },
        ),
    }
  }

  return {
    on,
    requests,
    sent: (match) => requests.filter(({ request }) => matches(match, request)),
    reset() {
      for (const rule of rules.splice(0)) rule.release()
    },
    async send(request, signal) {
      signal.throwIfAborted()
      const rule = take(request, false)
      const record: Recorded = { request, isReal: !rule, isStream: false }
      requests.push(record)
      try {
        const real = () => inner.send(request, signal)
        record.response = await (rule ? rule.act(request, signal, real) : real())
        return record.response
      } catch (error) {
        record.error = error
        throw error
      }
    },
    async stream(request, signal) {
      signal.throwIfAborted()
      const rule = take(request, true)
      const record: Recorded = { request, isReal: !rule, isStream: true }
      requests.push(record)
      try {
        const answer = await (rule?.stream ? rule.stream(request, signal) : inner.stream(request, signal))
        record.response = answer.opened
        return answer
      } catch (error) {
        record.error = error
        throw error
      }
    },
    close: () => inner.close(),
  }
}
