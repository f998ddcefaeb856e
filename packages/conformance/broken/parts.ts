/** What the plane's controllers share: caches, writers, and the one thing that is wrong. */
import {
  createAccessSource,
  createHttpTransport,
  createManager,
  createStatusWriter,
  createWriter,
  keyFor,
  type Manager,
  silentLogger,
  systemClock,
} from 'kube-control-loop'
import type { Fault } from './faults.ts'
import { type Kinds, kindsOf } from './kinds.ts'

const owner = {
  writer: 'sockets',
  identity: 'sockets',
  owns: ['code', 'conditions/Ready', 'conditions/Programmed'],
  when: 'socket, board or plug change',
} as const

export type PlaneOptions = { name: string; kubeconfig: string; fault?: Fault | undefined }

export function createProcess({ name, kubeconfig }: PlaneOptions): Manager {
  const access = createAccessSource({ clock: systemClock, kubeconfig })
  return createManager({
    name: 'sockets',
    transport: createHttpTransport({ access, clock: systemClock, userAgent: name }),
    metricPrefix: 'sockets_',
    eventController: `${kindsOf(name).group}/sockets`,
    identity: crypto.randomUUID(),
    log: silentLogger,
    drainMs: 0,
  })
}

export type Parts = ReturnType<typeof createParts>

export function createParts(manager: Manager, kinds: Kinds, fault: Fault | undefined) {
  const sockets = manager.cache(kinds.socket, {
    indexes: { board: ({ metadata, spec }) => [keyFor(spec.board, metadata.namespace)] },
  })
  const boards = manager.cache(kinds.board)
  const plugs = manager.cache(kinds.plug)
  const common = { ...manager.writers, controller: 'sockets', manager: 'sockets-objects' }
  return {
    kinds,
    client: manager.client,
    is: (one: Fault) => fault === one,
    fault,
    ...{ sockets, boards, plugs },
    socketWriter: createWriter({ ...common, kind: kinds.socket, cache: sockets, writes: ['patch', 'removeFinalizer'] }),
    boardWriter: createWriter({ ...common, kind: kinds.board, cache: boards, writes: ['removeFinalizer'] }),
    plugWriter: createWriter({ ...common, kind: kinds.plug, cache: plugs, writes: ['create', 'patch', 'remove'] }),
    status: createStatusWriter({ ...common, kind: kinds.socket, cache: sockets, owner }),
  }
}
