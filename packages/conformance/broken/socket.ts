/** Controller of sockets. Each `is(…)` is a place where a fault takes another way than the correct plane. */
import {
  again,
  type Controller,
  keyFor,
  keyOf,
  type Outcome,
  type Pass,
  settled,
  systemClock,
  WriteRaced,
  waiting,
  watch,
} from 'kube-control-loop'
import { type Board, finalizerOf, type Plug, type Socket } from './kinds.ts'
import type { Parts } from './parts.ts'
import { createReports } from './report.ts'

/** So many sockets at a time find a code where there are too few. */
const fewCodes = 25
const beatMs = 500

export function createSocketController(parts: Parts): Controller {
  const { is, sockets, boards, plugs, status } = parts
  const reports = createReports(parts.fault)
  const dependents = createDependents(parts)
  const asked = new Set<string>()

  async function reconcile({ key, signal }: Pass): Promise<Outcome> {
    const socket = sockets.get(key)
    if (!socket) return settled
    if (socket.metadata.deletionTimestamp) return await dependents.release(socket, signal)
    if (is('asks-for-interfaces') && !asked.has(key)) {
      asked.add(key)
      await askForInterface(parts, socket, signal)
    }
    const board = await findBoard(parts, socket, signal)
    const plug = board && (await dependents.ensure(socket, signal))
    if (plug === 'given up') return settled
    if (is('labels-sockets') && !socket.metadata.labels?.seen) await parts.socketWriter.patch(socket, seenLabel(socket), signal)
    const report = reports.of(socket, plug)
    if (report) await status.status(socket, report, signal)
    return is('heartbeat') && plug ? await beat(parts, plug, signal) : settled
  }

  return {
    name: 'sockets',
    needs: [{ cache: sockets }, { cache: boards }, { cache: plugs }],
    watches: [
      watch(sockets, ({ key }) => [key]),
      watch(plugs, ({ before, after = before }) => (after ? [keyFor(after.spec.socket, after.metadata.namespace)] : [])),
      ...(is('looks-once-for-the-board') ? [] : [watch(boards, ({ key }) => sockets.by('board', key).map(keyOf))]),
    ],
    reconcile,
    forget: status.forget,
  }
}

/** The plug of each socket: made, found again, taken away. */
function createDependents(parts: Parts) {
  const { is, kinds, plugs, boards, plugWriter, socketWriter } = parts
  const givenUp = new Set<string>()
  const coded = new Set<string>()
  const nameOf = ({ metadata: { name, uid } }: Socket) => (is('plug-by-name') ? name : `socket-${uid}`)

  function find(socket: Socket): Plug | undefined {
    const plug = plugs.get(keyFor(nameOf(socket), socket.metadata.namespace))
    const isOwn = !is('plug-by-name') || plug?.metadata.ownerReferences?.some(({ uid }) => uid === socket.metadata.uid)
    return isOwn ? plug : undefined
  }

  function findsCode({ metadata: { uid = '' } }: Socket): boolean {
    if (!coded.has(uid) && coded.size >= fewCodes) return false
    coded.add(uid)
    return true
  }

  return {
    async ensure(socket: Socket, signal: AbortSignal): Promise<Plug | 'given up'> {
      const { uid = '' } = socket.metadata
      if (givenUp.has(uid) || (is('too-few-codes') && !findsCode(socket))) return 'given up'
      const body = plugFor(kinds.group, socket, nameOf(socket))
      if (is('leaves-plugs')) delete body.metadata.ownerReferences
      try {
        return find(socket) ?? (await plugWriter.create(body, signal))
      } catch (error) {
        if (!is('plug-by-name') || !(error instanceof WriteRaced)) throw error
        givenUp.add(uid)
        return 'given up'
      }
    },

    async release(socket: Socket, signal: AbortSignal): Promise<Outcome> {
      const board = boards.get(keyFor(socket.spec.board, socket.metadata.namespace))
      if (is('needs-board-to-unplug') && board?.metadata.deletionTimestamp) return waiting('the board')
      const plug = find(socket)
      if (plug && !is('leaves-plugs') && !is('plug-by-name')) {
        await plugWriter.remove(plug, signal)
        return waiting('the plug being gone')
      }
      coded.delete(socket.metadata.uid ?? '')
      if (is('takes-all-finalizers')) await takeFinalizers(parts, socket, signal)
      else await socketWriter.removeFinalizer(socket, finalizerOf(kinds), signal)
      return settled
    },
  }
}

async function findBoard({ is, kinds, boards, client }: Parts, socket: Socket, signal: AbortSignal): Promise<Board | undefined> {
  const { namespace } = socket.metadata
  const known = boards.get(keyFor(socket.spec.board, namespace))
  // Who looks only once must not look at a list that trails.
  if (known || !is('looks-once-for-the-board')) return known
  return await client.find(kinds.board, { name: socket.spec.board, namespace }, signal)
}

function plugFor(group: string, socket: Socket, name: string): Plug {
  const { name: ownerName, namespace = '', uid = '' } = socket.metadata
  const apiVersion = `${group}/v1`
  const ownerReferences = [{ apiVersion, kind: 'Socket', name: ownerName, uid, controller: true }]
  return { apiVersion, kind: 'Plug', metadata: { name, namespace, ownerReferences }, spec: { socket: ownerName } }
}

async function beat({ plugWriter }: Parts, plug: Plug, signal: AbortSignal): Promise<Outcome> {
  const annotations = { ...plug.metadata.annotations, beat: systemClock.now().toISOString() }
  await plugWriter.patch(plug, [{ op: 'add', path: '/metadata/annotations', value: annotations }], signal)
  return again(beatMs, 'the heart beats')
}

async function takeFinalizers({ kinds, client }: Parts, { metadata }: Socket, signal: AbortSignal): Promise<void> {
  const { name, namespace, finalizers = [] } = metadata
  const patch = [{ op: 'replace', path: '/metadata/finalizers', value: [] }] as const
  if (finalizers.length > 0)
    await client.jsonPatch(kinds.socket, { name, namespace }, patch, { fieldManager: 'sockets-objects' }, signal)
}

async function askForInterface({ client }: Parts, { metadata: { name, namespace } }: Socket, signal: AbortSignal): Promise<void> {
  const path = `/apis/networking.datumapis.com/v1alpha/namespaces/${namespace}/networkinterfaces/${name}`
  await client.raw({ method: 'GET', path }, signal).catch(() => {})
}

function seenLabel({ metadata: { labels } }: Socket) {
  return [{ op: 'add', path: '/metadata/labels', value: { ...labels, seen: 'true' } }] as const
}
