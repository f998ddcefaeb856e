/**
 * The contract for data planes, version 1, rule by rule: the source of the table in docs/contracts/data-plane.md and of what
 * the suite tries. Numbers are never used again; a rule that goes leaves a gap.
 * “MUST”, “SHOULD” and “MAY” as in RFC 2119.
 */

export const contractVersion = 'v1'

export type Level = 'MUST' | 'SHOULD' | 'MAY'

export type Rule = {
  /** `DP-01`: how people and reports name it. */
  readonly id: string
  readonly level: Level
  /** Name of the case that tries it, unique; kebab-case. */
  readonly case: string
  /** One sentence, of the data plane. */
  readonly text: string
  /** What users meet where it is broken. */
  readonly why: string
  /** Contract version in which it came. */
  readonly since: 'v1'
}

const rule = (id: string, level: Level, name: string, text: string, why: string): Rule => ({
  id,
  level,
  case: name,
  text,
  why,
  since: 'v1',
})

export const rules = [
  rule(
    'DP-01',
    'MUST',
    'kinds',
    'Serves its attachment kind, and its network kind if it has one, namespaced, in an API group of its own, with a status subresource.',
    'Without the subresource whoever asks for an attachment could write its report.',
  ),
  rule(
    'DP-02',
    'MUST',
    'accepts-request',
    'Its schema takes the objects that the DataPlane’s templates make, without dropping a field of them.',
    'A dropped field is a wish that nobody hears.',
  ),
  rule(
    'DP-03',
    'MUST',
    'prepared',
    'Makes the Prepared condition True when a workload may start, with no workload there yet.',
    'A workload that waits for what only its own start can bring never starts.',
  ),
  rule(
    'DP-04',
    'MUST',
    'well-formed',
    'Reports conditions that have a status of True, False or Unknown, a CamelCase reason, a time, and one entry for each type.',
    'Anything else becomes Unknown with the reason ContractViolation.',
  ),
  rule(
    'DP-05',
    'MUST',
    'generation',
    'Sets observedGeneration to the generation it speaks of, and speaks again after each change of the spec.',
    'A report on an earlier generation counts as Unknown with the reason ReportStale.',
  ),
  rule(
    'DP-06',
    'MUST',
    'programmed-both-ways',
    'Where it reports Programmed: says True when traffic flows, and takes it back when traffic stops.',
    'A True that stays sends traffic into the dark.',
  ),
  rule(
    'DP-07',
    'MUST',
    'uid',
    'Never leaves a report on an attachment that was made again under the same name: it holds attachments by a finalizer of its own, or fences each status write by resourceVersion or uid.',
    'A report on the last object would make the next one look ready.',
  ),
  rule(
    'DP-08',
    'MUST',
    'report-restored',
    'Puts its report right when somebody else has changed it.',
    'A wrong status would stay for as long as nothing else changes.',
  ),
  rule(
    'DP-09',
    'SHOULD',
    'foreign-status-refused',
    'Has the API server refuse changes of its report by anybody else.',
    'What cannot be written need not be put right.',
  ),
  rule(
    'DP-10',
    'MUST',
    'request-untouched',
    'Leaves spec, labels, annotations and owner references of its attachments and network objects alone; of their metadata it writes its own finalizer only.',
    'Two writers of one field undo each other’s work for ever.',
  ),
  rule(
    'DP-11',
    'MUST',
    'restart',
    'Goes on after it was killed in the middle of work, and says of finished work what it said before.',
    'Identifiers that change under a running workload cut it off.',
  ),
  rule(
    'DP-12',
    'MUST',
    'duplicate-create',
    'Copes with objects of its own that exist already: of an earlier life of the process, or of an attachment that was deleted and made again at once.',
    'A create that fails for ever leaves the attachment unprepared.',
  ),
  rule(
    'DP-13',
    'MUST',
    'any-order',
    'Copes with an attachment that is made before its network object, and goes on when that comes.',
    'Objects of one user come in any order.',
  ),
  rule(
    'DP-14',
    'MUST',
    'deletion',
    'Lets a deleted attachment go within its documented grace, and leaves nothing behind that it made for it.',
    'Claims wait for their attachment to be gone.',
  ),
  rule(
    'DP-15',
    'MUST',
    'deletion-order',
    'Lets attachments and network objects go in whatever order they are deleted.',
    'A namespace is deleted all at once.',
  ),
  rule('DP-16', 'MUST', 'idle', 'Writes nothing while nothing changes.', 'Each write wakes all who watch.'),
  rule(
    'DP-17',
    'MUST',
    'burst',
    'Prepares 200 attachments that are made at once, and lets them go at once.',
    'Deployments come in hundreds.',
  ),
  rule(
    'DP-18',
    'MUST',
    'no-permission',
    'Has no permission on the API group networking.datumapis.com, by no role.',
    'What it may not touch, no fault of it can break.',
  ),
  rule(
    'DP-19',
    'MUST',
    'no-request',
    'Sends no request to the API group networking.datumapis.com.',
    'It would work on some clusters only.',
  ),
  rule(
    'DP-20',
    'MUST',
    'joint-permissions',
    'Grants NSO get, list, watch, create and delete on its kinds, patch on its attachments, and nothing else there: no write on a status above all.',
    'Attachments could not be made, or what nobody has to change could be changed: reports could be forged.',
  ),
  rule(
    'DP-21',
    'SHOULD',
    'keyed-conditions',
    'Declares conditions as a map by type (x-kubernetes-list-type: map).',
    'Two writers of an atomic list overwrite each other’s conditions.',
  ),
  rule(
    'DP-22',
    'MAY',
    'network-values',
    'Reports an identifier of the network and the name of a network definition for Pods, which the DataPlane’s report expressions read.',
    'Views show them; nothing waits for them.',
  ),
] as const satisfies readonly Rule[]

export type CaseName = (typeof rules)[number]['case']
