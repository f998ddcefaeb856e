/**
 * A scenario: steps and what the world must look like after each, on a running system. Written so that it holds as well when
 * NSO is killed and started again at any moment of it: it waits for the world, and asks for no more than what stays true.
 */
import type { Client, Kind } from 'kube-control-loop'

export type AddressMode = 'builtin' | 'ipam'

/** One allocation, whoever holds it: an AddressLease, or an IPClaim of the address service. */
export type Allocated = {
  /** Name of the lease or of the IPClaim. */
  readonly name: string
  readonly cidr: string
  /** What it was asked as: a family, or a class. */
  readonly request: string
}

export type ScenarioWorld = {
  readonly mode: AddressMode
  /** Of the administrator. */
  readonly client: Client
  /** A namespace of the scenario's own, in which the network `net` with both families is present. */
  readonly namespace: string
  readonly location: string
  /** Another namespace beside it, labelled or not as the address service needs it. */
  another(options?: { labelled?: boolean }): Promise<string>
  create(kind: Kind, name: string, spec: unknown, namespace?: string): Promise<void>
  remove(kind: Kind, name: string, namespace?: string): Promise<void>
  find(kind: Kind, name: string, namespace?: string): Promise<Found | undefined>
  /** Everything that is allocated for interfaces of a namespace (the scenario's own unless said). */
  allocations(namespace?: string): Promise<readonly Allocated[]>
  /** Resolves when `check` does not throw; rejects with its last error after the scenario's patience. */
  until<T>(what: string, check: () => Promise<T>): Promise<T>
  /** Says what is done next; shown by `npm run scenarios`. */
  step(sentence: string): void
}

export type Found = {
  readonly metadata: {
    readonly name: string
    readonly uid?: string
    readonly annotations?: Readonly<Record<string, string>>
    readonly finalizers?: readonly string[]
    readonly deletionTimestamp?: string
  }
  readonly spec: Readonly<Record<string, unknown>>
  readonly status?: Readonly<Record<string, unknown>>
}

export type Scenario = {
  /** In the words of the original's suite. */
  readonly name: string
  readonly about: string
  readonly modes: readonly AddressMode[]
  /** Ends with everything given back that it asked for: afterwards the namespace holds no claim, interface or allocation. */
  run(world: ScenarioWorld): Promise<void>
}
