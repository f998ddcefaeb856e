/**
 * A scenario: steps and what the world must look like after each, on a running system. Written so that it holds as well when
 * NSO is killed and started again at any moment of it: it waits for the world, and asks for no more than what stays true.
 */
import type { AddressFamily } from '@nso/api'
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
  /** Of the address service's administrator; where addresses are built in, `client`. */
  readonly service: Client
  /** Acts with NSO's identity: what an NSO that errs would do. */
  readonly nso: Client
  /** A namespace of the scenario's own, in which the network `network` with both families is present. */
  readonly namespace: string
  /** Name of that network: an address service knows networks by name, so that each scenario has one of its own. */
  readonly network: string
  readonly location: string
  /** Whether nothing is killed meanwhile: only then can what is told once, an Event, be asked for. */
  readonly calm: boolean
  /** Another namespace beside it, labelled or not as the address service needs it; without a network. */
  another(options?: { labelled?: boolean }): Promise<string>
  /** Makes a network and resolves when it is present here with its Subnets. */
  present(network: string, families: readonly AddressFamily[], namespace?: string): Promise<void>
  /** The namespace of the address service in which the allocations of a namespace stand; where addresses are built in, itself. */
  serviceNamespace(namespace?: string): string
  create(kind: Kind, name: string, spec: unknown, namespace?: string): Promise<void>
  /** A merge patch (RFC 7386), as a user makes it. */
  patch(kind: Kind, name: string, patch: unknown, namespace?: string): Promise<void>
  /** Asks for the deletion; no error when it is gone already. */
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
  /** Resources on which it makes NSO lose races (409, failed tests); on no others may there be any. */
  readonly provokes?: readonly string[]
  /** In the words of the original's suite. */
  readonly name: string
  readonly about: string
  readonly modes: readonly AddressMode[]
  /** Ends with everything given back that it asked for: afterwards the namespace holds no claim, interface or allocation. */
  run(world: ScenarioWorld): Promise<void>
}
