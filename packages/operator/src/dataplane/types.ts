/** What the claim and interface controllers need of data planes. Pure parts work on values; nothing here writes. */
import type { ConditionSource, DataPlane, NetworkContext, NetworkInterface, NetworkInterfaceClaim } from '@nso/api'
import type { Cache, KubeObject } from 'kube-control-loop'
import type { Rendered } from './patch.ts'
import type { TemplateError } from './template.ts'

/** A reference to exactly one DataPlane object; stands in the interface's annotation once chosen. */
export type PlaneRef = { name: string; uid: string }

/**
 * Everything a template may read. Objects as stored; `subnets` sorted, status before spec. The context is missing when it
 * was removed under a bound interface, whose report is translated all the same.
 */
export type TemplateScope = {
  context?: NetworkContext | undefined
  subnets: readonly { cidr: string; family: string; gateway: string | undefined }[]
  interface?: NetworkInterface
  claim?: NetworkInterfaceClaim | undefined
  network?: KubeObject | undefined
  attachment?: KubeObject | undefined
  networkObject?: KubeObject | undefined
}

/** A kind by the name objects carry; discovery tells its plural. */
export type KindRef = { readonly apiVersion: string; readonly kind: string }

/** A DataPlane, compiled. One that is not accepted is still found by `find`, so that tear-down works; its rendering throws. */
export type CompiledPlane = {
  readonly ref: PlaneRef
  readonly object: DataPlane
  readonly attachmentKind: KindRef
  readonly networkKind: KindRef | undefined
  /** The template of the network object reads the Network. */
  readonly readsNetwork?: boolean
  /** What the published schemas of its kinds speak against in its templates and reports; empty where they are not known. */
  readonly unknownFields: readonly TemplateError[]
  /** What its status says of unknown fields, for people, as long as a schema that may speak against it has not come: that stands. */
  readonly standingRefusal?: string | undefined
  /** Why nothing can be made for it now, for people: broken templates, kinds not served, no permission. */
  readonly hindrance: string | undefined
  /** Cache of the attachment kind; its state tells `unserved`. Undefined while the kind cannot be resolved (not installed). */
  readonly attachments: Cache | undefined
  readonly networks: Cache | undefined
  /** Body to POST or compare for one bound interface: name, namespace and owner reference set. Throws TemplateError with a message for people. */
  renderAttachment(scope: TemplateScope & { interface: NetworkInterface }): KubeObject
  /** The same with the keys that the template names and that have no value now: what a patch must remove. */
  attachmentRendering(scope: TemplateScope & { interface: NetworkInterface }): Rendered
  /** Undefined when the plane has no object for networks. Throws TemplateError. */
  renderNetwork(scope: TemplateScope & { context: NetworkContext }): KubeObject | undefined
  /** The plane's report about one attachment, translated (report.ts). Pure. */
  translate(given: ToTranslate): PlaneReport
}

/** What a report is translated from. `speaker`: the claim whose status is to say it; absent: the interface's is. */
export type ToTranslate = {
  interface: NetworkInterface
  attachment: KubeObject | undefined
  scope: TemplateScope
  speaker?: NetworkInterfaceClaim
}

/** The condition of an object that a translated one was read from. */
export type ReportedFrom = Omit<ConditionSource, 'type'>

/** `from` is absent where no report was read: the plane, the attachment or the report is missing, or the object is another's. */
export type TranslatedCondition = {
  status: 'True' | 'False' | 'Unknown'
  reason: string
  message: string
  from?: ReportedFrom
}

/** What interface and claim status say of the data plane; conditions without generation and time, which each object adds. */
export type PlaneReport = {
  prepared: TranslatedCondition
  programmed: TranslatedCondition
  vpc: string | undefined
  attachmentRef: { apiGroup: string; kind: string; name: string } | undefined
  podNetwork: string | undefined
}

export type DataPlanes = {
  /**
   * Most specific location wins: exact > longest `prefix*` > `*`; tie: older, then name. Only accepted planes take part;
   * undefined until the one that wins holds NSO's finalizer.
   */
  choose(location: string): CompiledPlane | undefined
  /** The one that `choose` answers once it holds the finalizer. */
  prospect(location: string): CompiledPlane | undefined
  /** The one that would serve the location, were it accepted and not being deleted; only where `prospect` answers none. */
  contender(location: string): CompiledPlane | undefined
  /** The plane a stored choice names; undefined when no DataPlane has this name and uid. */
  find(ref: PlaneRef): CompiledPlane | undefined
  /** Calls back with the key (namespace/name = the interface's) when any attachment of any plane changes, appears, or its kind is served or gone. */
  onAttachment(handler: (key: string) => void): () => void
  /** Calls back when a plane becomes usable, unusable, or changes. */
  onPlane(handler: (news: PlaneNews) => void): () => void
}

/** Interfaces that no plane serves are concerned by every change. */
export type PlaneNews = PlaneRef & {
  /** Whether it matters to those that it serves: not which locations it is for, what it offers, nor that it is being deleted. */
  readonly servedToo: boolean
}
