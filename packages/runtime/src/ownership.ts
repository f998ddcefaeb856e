/**
 * Who writes what, as data. Each application declares ONE table; the types a writer may serialise, the runtime guard,
 * RBAC, admission policies, documentation and tests are derived from it.
 */

/** A documented status writer: one field manager, acting under one identity. */
export type StatusOwner = {
  /** Field manager of every apply, e.g. `example-widget`. */
  readonly writer: string
  /** Name of the identity (service account) that may use this manager; resolved at installation. */
  readonly identity: string
  /** Top-level status fields and `conditions/<Type>` this writer owns. An intent always carries all that is known of them. */
  readonly owns: readonly string[]
  /** One sentence for people: when it is written. */
  readonly when: string
  /**
   * Managers under which the same identity wrote this in the previous release, which the admission policy accepts too. An
   * empty string: requests without a field manager, as default clients of that release sent them.
   */
  readonly formerly?: readonly string[]
  /** Each process of the identity uses a field manager of its own choice, so `writer` is only a word for people. */
  readonly anyManager?: true
}

/** A documented path of metadata or spec that has one writer: finalizers, labels, annotations, references, spec. */
export type MetadataOwner = {
  readonly path: string
  readonly writer: string
  readonly identity: string
  readonly when: string
  /** What the writer does to the object for it; its role is made from these. Absent: nothing beyond reading. */
  readonly verbs?: readonly ('create' | 'patch' | 'delete')[]
  /** As of `StatusOwner`. */
  readonly formerly?: readonly string[]
  /** Others write here too, by right: documented, and left to permissions. */
  readonly shared?: true
  /** One phrase for people: where what is written comes from. */
  readonly source?: string
  /**
   * Keys of a map that other programs read, where `path` is the map; a `*` at the end stands for any rest. The writer's are
   * these only: other keys are of whoever keeps them.
   */
  readonly keys?: readonly string[]
}

/** Whether a key is one of those that an item of `MetadataOwner.keys` names. */
export const isKeyOf = (documented: string, key: string): boolean =>
  documented.endsWith('*') ? key.startsWith(documented.slice(0, -1)) : key === documented

/** What people want to know of one status path beyond its writer: when it changes, and where it comes from. */
export type PathText = { readonly when: string; readonly source: string }

/** A text for each path of these owners: a path without one does not compile, nor a text without a path. */
export type StatusTexts<Owners extends Readonly<Record<string, StatusOwner>>> = {
  readonly [Name in keyof Owners]: Readonly<Record<Owners[Name]['owns'][number], PathText>>
}

export type ResourceOwnership = {
  readonly kind: {
    readonly group: string
    readonly version: string
    readonly kind: string
    readonly plural: string
    readonly scope: 'Namespaced' | 'Cluster'
  }
  readonly status: readonly StatusOwner[]
  readonly metadata: readonly MetadataOwner[]
  /** Status paths in the schema that nobody writes, with the reason. */
  readonly reserved?: readonly { readonly path: string; readonly why: string }[]
  /** The label that tells objects of these writers from those that others have of the same kind. Absent: all are. */
  readonly marked?: string
  /**
   * Managers of earlier software that wrote status, finalizers and spec here by `Update`, whoever they were: their entries in
   * managedFields are moved to the documented writers before the first apply.
   */
  readonly legacy?: readonly string[]
  /** Paths of metadata that are of others, so that no writer of the table touches them, with what they are. */
  readonly foreign?: readonly { readonly path: string; readonly why: string }[]
  /** By status path. */
  readonly texts?: Readonly<Record<string, PathText>>
}

/** A row that tells people everything: required where pages are made from a table. */
export type DocumentedOwnership = Omit<ResourceOwnership, 'metadata' | 'texts'> & {
  readonly texts: Readonly<Record<string, PathText>>
  readonly metadata: readonly (MetadataOwner & { readonly source: string })[]
}

export type OwnershipTable = readonly ResourceOwnership[]

type Fields<Owns extends string> = Exclude<Owns, `conditions/${string}`>
type ConditionTypes<Owns extends string> = Owns extends `conditions/${infer Type}` ? Type : never

/** A condition as stored. `type` narrows to what the writer owns. Source: KEP-1623. */
export type Condition<Type extends string = string> = {
  type: Type
  status: 'True' | 'False' | 'Unknown'
  reason: string
  message: string
  lastTransitionTime: string
  observedGeneration?: number
}

/** A condition as a writer says it; the time of its last flip is the status writer's business. */
export type ConditionIntent<Type extends string = string> = Omit<Condition<Type>, 'lastTransitionTime'> & {
  lastTransitionTime?: string
}

/**
 * The complete intent of one writer on one kind's status: its own fields and conditions and nothing else.
 * A field of another owner does not compile. `conditions` is required where the writer owns any: leaving the list out
 * of an apply would delete also the seeded conditions that nobody owns.
 */
export type StatusIntent<Status, Owner extends StatusOwner> = {
  [Field in Fields<Owner['owns'][number]> & keyof Status]?: Status[Field]
} & ([ConditionTypes<Owner['owns'][number]>] extends [never]
  ? unknown
  : { conditions: readonly ConditionIntent<ConditionTypes<Owner['owns'][number]>>[] })
