/**
 * A small data plane that obeys every rule, and that breaks exactly one of them when it is given a fault. For each Socket it
 * makes a Plug, once the Socket's Board is there; a driver (a test's hook) says on the Plug whether there is carrier.
 */
import { type Controller, keyFor, settled, waiting, watch } from 'kube-control-loop'
import { finalizerOf, kindsOf } from './kinds.ts'
import { createParts, createProcess, type Parts, type PlaneOptions } from './parts.ts'
import { createSocketController } from './socket.ts'

export type RunningPlane = { stop(): Promise<void> }

/** Starts a life of the plane's process: what it remembers is gone when it is stopped. */
export function startPlane(options: PlaneOptions): RunningPlane {
  const manager = createProcess(options)
  const parts = createParts(manager, kindsOf(options.name), options.fault)
  manager.add(createSocketController(parts))
  manager.add(createBoardController(parts))
  const end = new AbortController()
  const running = manager.run(end.signal)
  return {
    async stop() {
      end.abort(new Error('killed'))
      await running
    },
  }
}

/** A board stays while sockets are on it. */
function createBoardController({ kinds, boards, sockets, boardWriter }: Parts): Controller {
  return {
    name: 'boards',
    needs: [{ cache: boards }, { cache: sockets }],
    watches: [
      watch(boards, ({ key }) => [key]),
      watch(sockets, ({ before, after = before }) => (after ? [keyFor(after.spec.board, after.metadata.namespace)] : [])),
    ],
    async reconcile({ key, signal }) {
      const board = boards.get(key)
      if (!board?.metadata.deletionTimestamp) return settled
      if (sockets.by('board', key).length > 0) return waiting('its sockets being gone')
      await boardWriter.removeFinalizer(board, finalizerOf(kinds), signal)
      return settled
    },
  }
}
