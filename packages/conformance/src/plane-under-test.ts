/** What the suite must be given to try a data plane. Whatever is absent makes its cases skipped, with the reason said. */
import type { Manifest } from 'kube-control-loop'

/** The attachment that a hook shall do something for. */
export type At = { readonly namespace: string; readonly name: string }

export type PlaneUnderTest = {
  /** Of the DataPlane object. */
  readonly name: string
  /** Of the data plane’s own release. */
  readonly version: string
  /** The DataPlane object: templates and how the report is read. */
  readonly dataPlane: Manifest
  /** User that the data plane’s process acts as, as the API server names it; for permissions and the audit log. */
  readonly user?: string | undefined
  /** User that NSO acts as; for the permissions of the joint. */
  readonly requester?: string | undefined
  /** Path of the API server’s audit log (JSON lines, level Metadata or more). */
  readonly auditLog?: string | undefined
  /** Ends the process without warning and starts it again; resolves when it acts again. */
  readonly restart?: ((signal: AbortSignal) => Promise<void>) | undefined
  /** Makes traffic of an attachment flow, as its node would, and stop. */
  readonly traffic?:
    | {
        start(at: At, signal: AbortSignal): Promise<void>
        stop(at: At, signal: AbortSignal): Promise<void>
      }
    | undefined
  /**
   * Has the API server take foreign changes of the report for a while, where it refuses them; resolves with what ends that. That
   * it takes some time to act is waited for. Only so can be tried whether the report is put right.
   */
  readonly liftEnforcement?: ((signal: AbortSignal) => Promise<() => Promise<void>>) | undefined
  /** Longest time in ms that a deleted attachment may take to go; the plane documents it. */
  readonly detachGraceMs: number
}
