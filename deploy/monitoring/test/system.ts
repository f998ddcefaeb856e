/** NSO and the data planes under their own identities on a control plane of their own, with their pages served. */
import { readFile } from 'node:fs/promises'
import { nsoAccount, enforcement as nsoEnforcement, nsoManifests, ownershipProbes as nsoProbes } from '@nso/api'
import { createOperator, leaseName as nsoLease } from '@nso/operator'
import { createGalactic, galacticAccount, leaseName as galacticLease } from 'galactic'
import { enforcement as galacticEnforcement, galacticManifests, ownershipProbes as galacticProbes } from 'galactic/manifests'
import { standInNodeAccount, standInNodeManifests, startStandInNode } from 'galactic/testing'
import { leaseName as bridgeLease, createBridge } from 'kube-bridge'
import {
  bridgeAccount,
  enforcement as bridgeEnforcement,
  bridgeManifests,
  ownershipProbes as bridgeProbes,
} from 'kube-bridge/manifests'
import {
  createAccessSource,
  createClient,
  createHttpTransport,
  type Manager,
  ownershipInForce,
  ownershipParameters,
  silentLogger,
  systemClock,
} from 'kube-control-loop'
import { type Plane, startPlane } from 'kube-localplane'
import { eventually, testNamespace } from 'kube-localplane/testing'
import type { Component } from './registered.ts'

export type System = {
  readonly plane: Plane
  /** With a network `net` that is ready for claims. */
  readonly namespace: string
  /** The series of a process's page, without comments. */
  page(of: Component | 'apiserver'): Promise<Series[]>
  startGalactic(): Promise<void>
  stopGalactic(): Promise<void>
  createClaim(name: string): Promise<void>
  /** Asks the bridge data plane itself: on a network of its own, in the same namespace. */
  createBridgeAttachment(name: string): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

export type Series = { name: string; labels: Readonly<Record<string, string>>; value: number }

const location = 'here'
const group = 'networking.datumapis.com/v1alpha'
const bridgeVersion = 'bridge.datumapis.com/v1alpha1'
const joint = new URL('../../data-planes/galactic.yaml', import.meta.url)

type Part = { stop(): Promise<void>; page: string }

export async function startSystem(): Promise<System> {
  const plane = await startPlane({ name: 'monitoring-test' })
  const parts = new Map<string, Part>()
  const stop = async (name: string) => {
    await parts.get(name)?.stop()
    parts.delete(name)
  }
  await install(plane)
  const namespace = await place(plane)
  const node = startStandInNode({
    kubeconfig: await plane.kubeconfigFor({ serviceAccount: standInNodeAccount }),
    log: silentLogger,
  })
  const startGalactic = async () => {
    const galactic = createGalactic({
      kubeconfig: await plane.kubeconfigFor({ serviceAccount: galacticAccount }),
      log: silentLogger,
      lease: { namespace: galacticAccount.namespace, name: galacticLease },
      server: { port: 0 },
    })
    parts.set('galactic', await run(galactic.manager, galactic.run))
  }
  const kubeconfig = await plane.kubeconfigFor({ serviceAccount: nsoAccount })
  const operator = createOperator({
    transport: transportFor(kubeconfig),
    identity: crypto.randomUUID(),
    settings: { location, networkControllers: false },
    log: silentLogger,
    lease: { namespace: nsoAccount.namespace, name: nsoLease },
    server: { port: 0 },
  })
  parts.set('nso', await run(operator.manager, operator.run))
  await startGalactic()
  const bridge = createBridge({
    kubeconfig: await plane.kubeconfigFor({ serviceAccount: bridgeAccount }),
    log: silentLogger,
    lease: { namespace: bridgeAccount.namespace, name: bridgeLease },
    server: { port: 0 },
  })
  parts.set('bridge', await run(bridge.manager, bridge.run))
  return {
    plane,
    namespace,
    async page(of) {
      if (of === 'apiserver') return parsed((await plane.connection.request({ path: '/metrics' })).text)
      return parsed(await (await fetch(parts.get(of)?.page ?? '')).text())
    },
    startGalactic,
    stopGalactic: () => stop('galactic'),
    async createClaim(name) {
      const spec = { network: { name: 'net' } }
      await plane.apply([{ apiVersion: group, kind: 'NetworkInterfaceClaim', metadata: { name, namespace }, spec }])
    },
    async createBridgeAttachment(name) {
      const of = (kind: string, spec: object) => ({ apiVersion: bridgeVersion, kind, metadata: { name, namespace }, spec })
      await plane.apply([
        of('BridgeNetwork', { ranges: ['fd20:0:0:2::/64'] }),
        of('BridgeAttachment', { network: { name }, interface: {} }),
      ] as never)
    },
    async [Symbol.asyncDispose]() {
      await node.stop()
      for (const name of [...parts.keys()]) await stop(name)
      await plane[Symbol.asyncDispose]()
    },
  }
}

function transportFor(kubeconfig: string) {
  const access = createAccessSource({ clock: systemClock, kubeconfig })
  return createHttpTransport({ access, clock: systemClock, userAgent: 'monitoring-test/1' })
}

/** All of it, with ownership enforced. */
async function install(plane: Plane): Promise<void> {
  const [nso, galactic, bridge] = [nsoManifests(), galacticManifests(), bridgeManifests()]
  const crds = [...nso.crds, ...galactic.crds, ...bridge.crds, ...galactic.local]
  await plane.apply([...crds, ...nso.rbac, ...galactic.rbac, ...bridge.rbac] as never)
  await plane.apply([...standInNodeManifests()] as never)
  const parameters = [nsoEnforcement, galacticEnforcement, bridgeEnforcement].map((each) => ownershipParameters(each, 'Deny'))
  await plane.apply([...parameters, ...nso.ownership, ...galactic.ownership, ...bridge.ownership] as never)
  await plane.apply(await readFile(joint, 'utf8'))
  await plane.restartControllers()
  const client = createClient(transportFor(plane.kubeconfigPath), { clock: systemClock, jitter: Math.random })
  for (const [enforcement, probes] of [
    [nsoEnforcement, nsoProbes],
    [galacticEnforcement, galacticProbes],
    [bridgeEnforcement, bridgeProbes],
  ] as const) {
    await ownershipInForce({ client, clock: systemClock, enforcement, probes, signal: AbortSignal.timeout(60_000) })
  }
}

async function place(plane: Plane): Promise<string> {
  const { name: namespace } = await testNamespace(plane, 'claims')
  const of = (kind: string, name: string, spec: object) => ({
    apiVersion: group,
    kind,
    metadata: { name, namespace },
    spec,
  })
  const here = { location: { name: location } }
  const range = { ipFamily: 'IPv6', startAddress: 'fd20:0:0:1::', prefixLength: 64 }
  await plane.apply([
    of('NetworkContext', `net-${location}`, { network: { name: 'net' }, ...here, ipFamilies: ['IPv6'], mtu: 1460 }),
    of('Subnet', `net-${location}-0`, {
      subnetClass: 'private',
      networkContext: { name: `net-${location}` },
      ...here,
      ...range,
    }),
  ] as never)
  return namespace
}

async function run(manager: Manager, start: (signal: AbortSignal) => Promise<void>): Promise<Part> {
  const stop = new AbortController()
  const ended = start(stop.signal)
  await eventually('it leads', () => manager.leads)
  const { address } = manager
  if (!address) throw new Error('no pages are served')
  return {
    page: `http://${address.host}:${address.port}/metrics`,
    async stop() {
      stop.abort(new Error('the test is over'))
      await ended
    },
  }
}

function parsed(page: string): Series[] {
  return page.split('\n').flatMap((line) => {
    const [, name = '', labels = '', value = ''] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/.exec(line) ?? []
    if (name === '') return []
    const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, label = '', text = '']) => [label, text])
    return [{ name, labels: Object.fromEntries(pairs), value: Number(value) }]
  })
}
