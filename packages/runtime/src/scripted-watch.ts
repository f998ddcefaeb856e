/** A watch whose events a test sends one by one. */

export type ScriptedWatch = {
  /** To be handed to `scriptTransport(…).on(…).stream(lines, 'ends')`. */
  readonly lines: AsyncIterable<string>
  send(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: unknown): void
  bookmark(resourceVersion: string, initialEventsEnd?: boolean): void
  /** An ERROR event inside the open stream. */
  error(code: number, reason: string): void
  /** The server closes the stream. */
  end(): void
  /** The connection breaks. */
  break(): void
}

export function scriptWatch(): ScriptedWatch {
  const waiting: (IteratorResult<string> | Error)[] = []
  let wake = () => {}
  const push = (item: IteratorResult<string> | Error) => {
    waiting.push(item)
    wake()
  }
  const line = (type: string, object: unknown) => push({ done: false, value: JSON.stringify({ type, object }) })
  const lines: AsyncIterable<string> = {
    [Symbol.asyncIterator]: () => ({
      async next() {
        while (waiting.length === 0) {
          await new Promise<void>((resolve) => {
            wake = resolve
          })
        }
        const item = waiting.shift() as IteratorResult<string> | Error
        if (item instanceof Error) throw item
        return item
      },
    }),
  }
  return {
    lines,
    send: line,
    bookmark: (resourceVersion, initialEventsEnd = false) =>
      line('BOOKMARK', {
        metadata: { resourceVersion, ...(initialEventsEnd ? { annotations: { 'k8s.io/initial-events-end': 'true' } } : {}) },
      }),
    error: (code, reason) =>
      line('ERROR', { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason, message: reason, code }),
    end: () => push({ done: true, value: undefined }),
    break: () => push(new Error('read ECONNRESET')),
  }
}
