/** The row of a network definition in the ownership table of whoever renders one for each of its attachments. */
import type { DocumentedOwnership } from 'kube-control-loop'

type Row = DocumentedOwnership['metadata'][number]

export type DefinitionOwner = {
  readonly writer: string
  readonly identity: string
  readonly formerly?: readonly string[]
  /** Kind of the object that each definition is made for. */
  readonly of: string
  /** Where the text of the configuration comes from. */
  readonly source: string
  /** Label → where its value comes from. */
  readonly labels: Readonly<Record<string, string>>
  /** Whose the annotations are, where no row says it. */
  readonly annotations?: string
  /** Who holds the definition while it is in use, since it carries no finalizer of the renderer. */
  readonly heldBy: string
}

/** Spec, labels and references of a definition have one writer; its finalizers are left to others. */
export function definitionOwnership(
  owner: DefinitionOwner,
): Pick<DocumentedOwnership, 'status' | 'texts' | 'metadata' | 'foreign'> {
  const { writer, identity, formerly } = owner
  const row = (path: string, when: string, source: string, verbs: NonNullable<Row['verbs']>): Row => ({
    path,
    writer,
    identity,
    ...(formerly ? { formerly } : {}),
    when,
    source,
    verbs,
  })
  const labelWhen = 'at creation; put right when someone else changed it'
  return {
    status: [],
    texts: {},
    metadata: [
      row('spec', 'before the attachment is reported ready, and when its rendering changes', owner.source, [
        'create',
        'patch',
        'delete',
      ]),
      ...Object.entries(owner.labels).map(([label, source]) =>
        row(`metadata.labels/${label}`, labelWhen, source, ['create', 'patch']),
      ),
      row('metadata.ownerReferences', 'at creation: the attachment', `the ${owner.of}`, ['create', 'patch']),
    ],
    foreign: [
      { path: 'metadata.finalizers', why: owner.heldBy },
      ...(owner.annotations === undefined ? [] : [{ path: 'metadata.annotations', why: owner.annotations }]),
    ],
  }
}
