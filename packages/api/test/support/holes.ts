/** Ways around a comparison of values, each as one write by somebody who is not the owner. */
import { finalizers, managers, NetworkInterface } from '@nso/api'
import { apiVersionOf, type KubeObject, type ManagedFieldsEntry } from 'kube-control-loop'
import { type Actor, type assertRefused, type Target, type TrialWrite, write } from 'kube-control-loop/testing'
import { applyPatch, jsonPatch } from 'kube-localplane'

export type Actors = { readonly rogue: Actor; readonly nso: Actor; readonly admin: Actor }

export const identity = { apiVersion: apiVersionOf(NetworkInterface), kind: NetworkInterface.kind }
export const conditions = (is: 'True' | 'False') =>
  ['Allocated', 'Prepared', 'Programmed'].map((type) => ({
    ...{ type, status: is, reason: `Is${is}`, message: `it is ${is}`, lastTransitionTime: '2026-08-21T10:00:00Z' },
  }))
export const status = { phase: 'Bound', vpc: 'jU', networkContextRef: { name: 'net-here' }, conditions: conditions('True') }

export const apply = (actor: Actor, at: Target, manager: string, content: object, more: Partial<TrialWrite> = {}) =>
  write(actor, at, {
    ...{ manager, subresource: 'status', contentType: applyPatch, force: true },
    body: { ...identity, metadata: { name: at.name }, ...content },
    ...more,
  })

export const entriesOf = (object: KubeObject) => [...(object.metadata.managedFields ?? [])]
const ownIndex = (object: KubeObject) => entriesOf(object).findIndex(({ manager }) => manager === managers.interface)

export type Hole = {
  says: string
  words: string[]
  attempt: (by: Actors, at: Target, stands: KubeObject) => Promise<Parameters<typeof assertRefused>[0]>
}

export const byHand = (by: Actors, at: Target, managedFields: unknown, method: 'PATCH' | 'PUT' = 'PATCH', stands?: KubeObject) =>
  write(by.rogue, at, { method, manager: 'evil', body: { ...stands, metadata: { ...stands?.metadata, managedFields } } })

const vpc = { 'f:status': { 'f:vpc': {} } }
export const entry = (given: Partial<ManagedFieldsEntry>): ManagedFieldsEntry => ({
  ...{ manager: 'evil', operation: 'Update', subresource: 'status', apiVersion: identity.apiVersion },
  ...{ time: '2026-08-21T10:00:00Z', fieldsType: 'FieldsV1', fieldsV1: vpc },
  ...given,
})
const added = (given: Partial<ManagedFieldsEntry>) => async (by: Actors, at: Target, stands: KubeObject) =>
  await byHand(by, at, [...entriesOf(stands), entry(given)])
const changed =
  (change: (own: ManagedFieldsEntry) => Partial<ManagedFieldsEntry>) => async (by: Actors, at: Target, stands: KubeObject) =>
    await byHand(
      by,
      at,
      entriesOf(stands).map((each, index) => (index === ownIndex(stands) ? { ...each, ...change(each) } : each)),
    )
export const item = (type: string) => `k:{"type":"${type}"}`
export const ofVpc = 'second owner of status.'

export const holes: readonly Hole[] = [
  {
    says: 'an apply of the same value by another manager, which would keep the owner from removing it',
    words: ['evil would become a second owner of status.vpc', `written only by system:serviceaccount:nso-system:nso as`],
    attempt: (by, at) => apply(by.rogue, at, 'evil', { status: { vpc: 'jU' } }),
  },
  {
    says: 'an apply of the same condition',
    words: [`${ofVpc}conditions[Prepared]`],
    attempt: (by, at) => apply(by.rogue, at, 'evil', { status: { conditions: conditions('True').slice(1, 2) } }),
  },
  {
    says: 'an apply of part of a condition',
    words: [`${ofVpc}conditions[Prepared]`],
    attempt: (by, at) => apply(by.rogue, at, 'evil', { status: { conditions: [{ type: 'Prepared', status: 'True' }] } }),
  },
  {
    says: 'an empty apply under the owner’s name, which would strip it of all ownership',
    words: [`field manager ${managers.interface} is reserved`],
    attempt: (by, at) => apply(by.rogue, at, managers.interface, {}),
  },
  {
    says: 'any write under a name of the table',
    words: [`field manager ${managers.subnet} is reserved`],
    attempt: (by, at) =>
      write(by.rogue, at, { manager: managers.subnet, body: { metadata: { annotations: { 'example.dev/x': 'y' } } } }),
  },
  {
    says: 'a write without a field manager, whose user agent begins with a name of the table',
    words: [`field ownership as ${managers.interface} is reserved`, '(no field manager)'],
    attempt: (by, at) =>
      write(by.rogue, at, {
        ...{ userAgent: `${managers.interface}/1.0`, body: { metadata: { annotations: { 'example.dev/x': 'y' } } } },
      }),
  },
  {
    says: 'a condition of one’s own reported under such a user agent',
    words: [`field ownership as ${managers.claim} is reserved`],
    attempt: (by, at) => {
      const value = { ...conditions('True')[0], type: 'example.dev/Checked' }
      const body = [{ op: 'add', path: '/status/conditions/-', value }]
      return write(by.rogue, at, { subresource: 'status', contentType: jsonPatch, userAgent: `${managers.claim}/1.0`, body })
    },
  },
  {
    says: 'somebody’s condition put into the owner’s entry, which would have the owner remove it',
    words: [`field ownership as ${managers.interface} is reserved`],
    attempt: changed(({ fieldsV1 }) => {
      const copy = structuredClone(fieldsV1) as { 'f:status': { 'f:conditions': Record<string, object> } }
      copy['f:status']['f:conditions'][item('example.dev/Checked')] = { '.': {}, 'f:type': {} }
      return { fieldsV1: copy }
    }),
  },
  {
    says: 'a field that nobody documents put into the owner’s entry',
    words: [`field ownership as ${managers.interface} is reserved`],
    attempt: changed(({ fieldsV1 }) => {
      const copy = structuredClone(fieldsV1) as { 'f:status': Record<string, object> }
      copy['f:status']['f:other'] = {}
      return { fieldsV1: copy }
    }),
  },
  {
    says: 'an entry of one of NSO’s writers that covers nothing documented',
    words: [`field ownership as ${managers.subnet} is reserved`],
    attempt: added({ manager: managers.subnet, fieldsV1: { 'f:status': { 'f:other': {} } } }),
  },
  {
    says: 'a label like those that the claim hands on',
    words: ['metadata.labels/compute.datumapis.com/* written only by'],
    attempt: (by, at) => write(by.rogue, at, { body: { metadata: { labels: { 'compute.datumapis.com/more': 'x' } } } }),
  },
  {
    says: 'another value of such a label',
    words: ['metadata.labels/compute.datumapis.com/* written only by'],
    attempt: (by, at) => write(by.rogue, at, { body: { metadata: { labels: { 'compute.datumapis.com/instance': 'x' } } } }),
  },
  {
    says: 'the same value of such a label in somebody’s apply',
    words: ['second owner of metadata.labels/compute.datumapis.com/*'],
    attempt: (by, at) =>
      apply(
        ...([by.rogue, at, 'evil', { metadata: { name: at.name, labels: { 'compute.datumapis.com/instance': 'a' } } }] as const),
        { subresource: '' },
      ),
  },
  {
    says: 'NSO itself under the name of another of its writers',
    words: ['status.vpc written only by', `as ${managers.claim}`],
    attempt: (by, at) => apply(by.nso, at, managers.claim, { status: { vpc: 'other' } }),
  },
  {
    says: 'NSO itself as second owner under another name',
    words: [`${ofVpc}vpc`],
    attempt: (by, at) => apply(by.nso, at, managers.claim, { status: { vpc: 'jU' } }),
  },
  { says: 'ownership wiped by one empty entry', words: [ofVpc], attempt: (by, at) => byHand(by, at, [{}]) },
  {
    says: 'ownership wiped by a whole-object PUT',
    words: [ofVpc],
    attempt: (by, at, stands) => byHand(by, at, [{}], 'PUT', stands),
  },
  {
    says: 'ownership wiped by an entry of a version that is not served',
    words: [ofVpc],
    attempt: async (by, at, stands) =>
      byHand(by, at, [...entriesOf(stands), entry({ apiVersion: 'networking.datumapis.com/v9', fieldsV1: {} })]),
  },
  { says: 'the owner’s entry renamed', words: [ofVpc], attempt: changed(() => ({ manager: 'evil' })) },
  { says: 'the owner’s entry without a name', words: [ofVpc], attempt: changed(() => ({ manager: '' })) },
  { says: 'the owner’s entry made an Update', words: [ofVpc], attempt: changed(() => ({ operation: 'Update' })) },
  { says: 'the owner’s entry moved to the main resource', words: [ofVpc], attempt: changed(() => ({ subresource: '' })) },
  { says: 'the owner’s entry moved to no resource at all', words: [ofVpc], attempt: changed(() => ({ subresource: 'nothing' })) },
  { says: 'the owner’s entry emptied', words: [ofVpc], attempt: changed(() => ({ fieldsV1: {} })) },
  {
    says: 'one field taken out of a condition in the owner’s entry',
    words: [`${ofVpc}conditions[Prepared]`],
    attempt: changed(({ fieldsV1 }) => {
      const copy = structuredClone(fieldsV1) as { 'f:status': { 'f:conditions': Record<string, Record<string, unknown>> } }
      delete copy['f:status']['f:conditions'][item('Prepared')]?.['f:message']
      return { fieldsV1: copy }
    }),
  },
  {
    says: 'the owner’s entry dropped',
    words: [ofVpc],
    attempt: (by, at, stands) =>
      write(by.rogue, at, {
        ...{ contentType: jsonPatch, manager: 'evil' },
        body: [{ op: 'remove', path: `/metadata/managedFields/${ownIndex(stands)}` }],
      }),
  },
  { says: 'an entry of an Update added by hand', words: [`${ofVpc}vpc`], attempt: added({}) },
  { says: 'an entry of an Apply added by hand', words: [`${ofVpc}vpc`], attempt: added({ operation: 'Apply' }) },
  { says: 'an entry without a manager added by hand', words: [`${ofVpc}vpc`], attempt: added({ manager: '' }) },
  { says: 'an entry of no resource at all', words: [`${ofVpc}vpc`], attempt: added({ subresource: 'nothing' }) },
  {
    says: 'an entry of the owner on the main resource',
    words: [`${ofVpc}vpc`],
    attempt: added({ manager: managers.interface, subresource: '' }),
  },
  {
    says: 'an entry that looks like the server’s first one',
    words: [`${ofVpc}vpc`],
    attempt: added({ manager: 'before-first-apply', subresource: '' }),
  },
  {
    says: 'an entry that looks like gathered ones',
    words: [`${ofVpc}vpc`],
    attempt: added({ manager: 'ancient-changes', subresource: '' }),
  },
  {
    says: 'an entry with a condition’s key written in another way',
    words: [`${ofVpc}conditions[Prepared]`],
    attempt: added({ fieldsV1: { 'f:status': { 'f:conditions': { 'k:{ "type" : "Prep\\u0061red" }': { '.': {} } } } } }),
  },
  {
    says: 'an entry with the finalizer written in another way',
    words: ['second owner of metadata.finalizers/'],
    attempt: added({
      subresource: '',
      fieldsV1: {
        'f:metadata': { 'f:finalizers': { [`v: "${finalizers.interface.replace('networking', 'n\\u0065tworking')}"`]: {} } },
      },
    }),
  },
  {
    says: 'the content of an old copy put back over the status',
    words: ['status.phase, status.vpc, status.conditions[Allocated], status.conditions[Prepared]', 'not by'],
    attempt: (by, at, stands) => {
      const old = { ...status, vpc: 'old', phase: 'Available', conditions: conditions('False') }
      return write(by.rogue, at, { method: 'PUT', subresource: 'status', body: { ...stands, status: old } })
    },
  },
  {
    says: 'the status emptied',
    words: ['status.phase, status.networkContextRef, status.vpc'],
    attempt: (by, at, stands) => write(by.rogue, at, { method: 'PUT', subresource: 'status', body: { ...stands, status: {} } }),
  },
  {
    says: 'a condition left out',
    words: ['status.conditions[Prepared] written only by'],
    attempt: (by, at, stands) => {
      const rest = conditions('True').filter(({ type }) => type !== 'Prepared')
      return write(by.rogue, at, {
        method: 'PUT',
        subresource: 'status',
        body: { ...stands, status: { ...status, conditions: rest } },
      })
    },
  },
  {
    says: 'the finalizer removed by a merge patch',
    words: [`metadata.finalizers/${finalizers.interface} written only by`],
    attempt: (by, at) => write(by.admin, at, { body: { metadata: { finalizers: null } } }),
  },
  {
    says: 'the finalizer removed by a JSON patch',
    words: [`metadata.finalizers/${finalizers.interface} written only by`],
    attempt: (by, at) =>
      write(by.admin, at, { contentType: jsonPatch, body: [{ op: 'remove', path: '/metadata/finalizers/0' }] }),
  },
  {
    says: 'the finalizer in somebody’s apply, whose next one could leave it out',
    words: [`second owner of metadata.finalizers/${finalizers.interface}`],
    attempt: (by, at) =>
      apply(by.rogue, at, 'evil', { metadata: { name: at.name, finalizers: [finalizers.interface] } }, { subresource: '' }),
  },
  {
    says: 'a reference to an owner',
    words: ['metadata.ownerReferences written only by'],
    attempt: (by, at) =>
      write(by.admin, at, {
        body: { metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'Secret', name: 'x', uid: 'x' }] } },
      }),
  },
  {
    says: 'an interface made by hand',
    words: ['spec', 'written only by'],
    attempt: (by, at) => {
      const body = { ...identity, metadata: { name: `by-hand-of-${at.name}` }, spec: { network: { name: 'net' } } }
      return write(by.admin, at, { method: 'POST', body })
    },
  },
]
