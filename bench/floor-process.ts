/**
 * One of the two processes of the floor's chain: it sees an object by watch, sends the next writes, and thinks nothing.
 * `allocates` stands where NSO stands (claim seen: lease, interface, attachment; attachment ready: claim status), `attaches`
 * where the data plane stands (attachment seen: definition, attachment status). Started by floor.ts, ends with it.
 */
import {
  createAccessSource,
  createCache,
  createClient,
  createHttpTransport,
  type KubeObject,
  silentLogger,
  systemClock,
} from 'kube-control-loop'
import { floorKind, type Role } from './floor-kinds.ts'
import { bodyAt, type Place, statusAt, type Templates } from './templates.ts'

export type Orders = {
  does: 'allocates' | 'attaches'
  kubeconfig: string
  namespace: string
  /** The claim that the templates were taken from. */
  from: string
  templates: Templates
}

/** Only the first status that is not there yet: what comes later is the answer to an own write. */
const isReady = ({ status }: KubeObject): boolean =>
  (status as { networkAttachmentDefinition?: string } | undefined)?.networkAttachmentDefinition !== undefined

async function run(orders: Orders): Promise<void> {
  const { does, kubeconfig, namespace, from, templates } = orders
  const { signal } = new AbortController()
  const access = createAccessSource({ clock: systemClock, kubeconfig })
  const transport = createHttpTransport({ access, clock: systemClock, userAgent: `floor-${does}/0.1.0` })
  const tools = { clock: systemClock, jitter: Math.random }
  const client = createClient(transport, tools)
  const follow = (role: Role) => createCache(client, floorKind(role), { namespace }, { ...tools, log: silentLogger })

  const create = (role: Role, place: Place) => {
    const template = templates[role]
    return client.create(floorKind(role), bodyAt(template, place), { fieldManager: template.createdBy }, signal)
  }
  const report = (role: Role, object: KubeObject, place: Place) => {
    const template = templates[role]
    const at = { name: object.metadata.name, namespace, subresource: 'status' }
    const body = statusAt(template, object, place)
    return client.apply(floorKind(role), at, body, { fieldManager: template.appliedBy, force: false }, signal)
  }

  const allocate = async (claim: KubeObject) => {
    const place = { from, to: claim.metadata.name, namespace }
    await create('lease', place)
    const owner = await create('interface', place)
    await create('attachment', { ...place, owner })
  }
  const attach = async (attachment: KubeObject) => {
    const place = { from, to: attachment.metadata.name, namespace }
    await create('definition', { ...place, owner: attachment })
    await report('attachment', attachment, place)
  }

  const attachments = follow('attachment')
  const claims = follow('claim')
  const fail = (error: unknown) => {
    console.error(error)
    process.exit(1)
  }
  attachments.subscribe(({ key, before, after }) => {
    if (does === 'attaches' && after && !before) attach(after).catch(fail)
    if (does === 'allocates' && after && isReady(after) && !(before && isReady(before))) {
      const claim = claims.get(key)
      if (claim) report('claim', claim, { from, to: claim.metadata.name, namespace }).catch(fail)
    }
  })
  claims.subscribe(({ before, after }) => {
    if (does === 'allocates' && after && !before) allocate(after).catch(fail)
  })
  const followed = does === 'allocates' ? [claims, attachments] : [attachments]
  for (const cache of followed) void cache.run(signal)
  await Promise.all(followed.map((cache) => cache.ready(signal)))
  process.send?.('ready')
}

process.once('disconnect', () => process.exit(0))
process.once('message', (orders) => void run(orders as Orders))
