/** What the plane says of a socket, and how a fault bends it. */
import { keyOf } from 'kube-control-loop'
import type { Fault } from './faults.ts'
import type { Plug, Socket } from './kinds.ts'

type Said = {
  type: 'Ready' | 'Programmed'
  status: 'True' | 'False'
  reason: string
  message: string
  observedGeneration: number
}
export type Report = { code?: string; conditions: readonly Said[] }

export type Reports = {
  /** Undefined: nothing is to be said now. */
  of(socket: Socket, plug: Plug | undefined): Report | undefined
}

export function createReports(fault: Fault | undefined): Reports {
  const is = (one: Fault) => fault === one
  const codes = new Map<string, string>()
  const said = new Map<string, string>()
  const carried = new Set<string>()
  const lastOf = new Map<string, { uid: string; report: Report }>()

  /** What was said last under the name, once, where that was another socket. */
  function ofLast(socket: Socket, next: Report): Report | undefined {
    const { uid = '' } = socket.metadata
    const last = lastOf.get(keyOf(socket))
    lastOf.set(keyOf(socket), { uid, report: next })
    return last && last.uid !== uid ? last.report : undefined
  }

  function codeOf({ metadata: { uid = '' } }: Socket): string {
    if (!is('forgets-codes')) return uid.slice(0, 8)
    const code = codes.get(uid) ?? crypto.randomUUID().slice(0, 8)
    codes.set(uid, code)
    return code
  }

  function report(socket: Socket, plug: Plug | undefined): Report {
    const stood = socket.status?.conditions?.find(({ type }) => type === 'Programmed')
    const { uid = '' } = socket.metadata
    const carrier = plug?.status?.carrier ?? (is('programmed-too-soon') ? 'Up' : 'Down')
    const hasCarrier = carrier === 'Up' || (is('programmed-for-ever') && carried.has(uid))
    if (hasCarrier) carried.add(uid)
    const isReady = plug !== undefined && (hasCarrier || !is('waits-for-workload'))
    const generation = socket.metadata.generation ?? 0
    const about = { observedGeneration: generation, message: `of socket ${uid}` }
    const old = is('old-generation') ? { observedGeneration: stood?.observedGeneration ?? generation } : {}
    const carries = is('traffic-of-words') ? 'there is carrier' : 'Carrier'
    const plugged = is('reason-of-words') ? 'there is a plug' : 'Plugged'
    return {
      ...(plug ? { code: codeOf(socket) } : {}),
      conditions: [
        { ...about, type: 'Ready', ...(isReady ? yes(plugged) : no('NotPlugged')) },
        { ...about, ...old, type: 'Programmed', ...(hasCarrier ? yes(carries) : no('NoCarrier')) },
      ],
    }
  }

  return {
    of(socket, plug) {
      const next = report(socket, plug)
      if (is('report-by-name')) return ofLast(socket, next) ?? next
      if (!is('says-it-once')) return next
      const { uid = '' } = socket.metadata
      if (said.get(uid) === JSON.stringify(next)) return undefined
      said.set(uid, JSON.stringify(next))
      return next
    },
  }
}

const yes = (reason: string) => ({ status: 'True', reason }) as const
const no = (reason: string) => ({ status: 'False', reason }) as const
