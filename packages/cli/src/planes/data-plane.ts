/** What the command line must know of a data plane to install it, run it and show it: one value for each. */
import type { Client, Kind, KubeObject, Manifest, OwnershipEnforcement, OwnershipProbe } from 'kube-control-loop'
import type { Account } from '../identities.ts'
import type { Running } from '../supervise.ts'

/** A network of the samples, or a shape of claim: what a workload may ask for there. */
export type ClaimShape = { prefix: string; network: string; spec: Readonly<Record<string, unknown>> }

export type Samples = {
  /** The first one's name is shown first. */
  networks: readonly string[]
  /** The shapes of claims, which come in turn. */
  shapes: readonly ClaimShape[]
}

export type DataPlaneUse = {
  /** Of its DataPlane object, and of the manifests in `deploy/data-planes`. */
  readonly name: string
  /** For people, at the beginning of a sentence. */
  readonly title: string
  readonly account: Account
  /** Module that runs its process. */
  readonly main: string
  /** `local`: CRDs of others, installed only where they are missing. */
  manifests(): { crds: Manifest[]; rbac: Manifest[]; local: Manifest[] }
  readonly ownership: { enforcement: OwnershipEnforcement; probes: readonly OwnershipProbe[] }
  readonly kinds: { attachment: Kind; networkObject: Kind }
  /** What an interface's `status.vpc` is with it, for people. */
  readonly networkWord: string
  /** What is worth saying of an attachment beside its conditions. */
  attachmentNotes(attachment: KubeObject): string[]
  readonly samples: Samples
  readonly standIn: StandIn
}

/** Plays the nodes, which a local control plane has none of. */
export type StandIn = {
  /** For people, as part of a sentence. */
  readonly title: string
  readonly account: Account
  manifests(): Manifest[]
  /** Whether it plays on a given cluster too, whose nodes do not do it. */
  readonly onGivenClusters: boolean
  /** Sentences about what this machine lacks for it; the system runs without it then. */
  missing(options: Pick<StandInOptions, 'log' | 'signal'>): Promise<string[]>
  start(options: StandInOptions): Promise<RunningStandIn>
}

export type StandInOptions = { kubeconfig: string; log: (line: string) => void; signal: AbortSignal }

export type RunningStandIn = Running & {
  /** Present where claims become Ready only by a workload that uses them. */
  readonly workloads?: Workloads
}

/** What a claim and its attachment are used by. */
export type Prepared = { claim: KubeObject; attachment: KubeObject }

export type Workloads = {
  /** Makes what uses a claim that is Prepared. */
  start(client: Client, prepared: Prepared, signal: AbortSignal): Promise<void>
  /** Tries with real packets who reaches whom. */
  prove(all: readonly Prepared[]): Promise<Proof>
}

/** `wanted`: whether they are to reach each other; the two do where they are of one network. */
export type Trial = {
  from: string
  to: string
  family: 'IPv4' | 'IPv6'
  address: string
  wanted: boolean
  /** Of the datagram that came back, or was to; IP headers included. */
  packetBytes: number
  tcp: string
  udp: string
  asWanted: boolean
}

export type Proof = {
  workloads: { name: string; network: string; device: string; mtu: number; addresses: string[]; asClaimed: boolean }[]
  trials: Trial[]
}
