/** A control plane of its own for one data plane, with NSO’s kinds and roles and no NSO: the suite plays its part. */
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { nsoAccount, nsoManifests } from '@nso/api'
import { type Client, createAccessSource, createClient, createHttpTransport, type Manifest, systemClock } from 'kube-control-loop'
import { type KubeObject, kubectlCommand, type PlaneAccess, parseManifests, startPlane } from 'kube-localplane'
import type { PlaneUnderTest } from '../src/plane-under-test.ts'
import { type Command, startProcess } from './process.ts'

export type Account = { readonly namespace: string; readonly name: string }

/** What is to be known of a data plane to bring it up here. */
export type Recipe = {
  readonly version: string
  readonly account: Account
  /** Definitions, identity and roles: all that its administrator installs. */
  readonly manifests: readonly Manifest[]
  /** DataPlane and the role that lets NSO make its objects; relative to the repository. */
  readonly joint: string
  readonly detachGraceMs: number
  /** The process, given the kubeconfig of its account and the command line of kubectl. */
  command(given: { kubeconfig: string; kubectl: readonly string[] }): Command
  /** What only this data plane has; closed with the rest. */
  extend?(given: { client: Client; kubeconfigFor(account: Account): Promise<string> }): Promise<Extension>
}

export type Extension = Pick<PlaneUnderTest, 'traffic' | 'liftEnforcement'> & { stop?(): Promise<void> }

export type LocalPlane = {
  readonly plane: PlaneUnderTest
  /** Of the administrator. */
  readonly kubeconfig: string
  /** The control plane. */
  readonly server: PlaneAccess
  /** Resolves with a sentence when the process or the control plane ends although nobody ended it. */
  readonly failed: Promise<string>
  [Symbol.asyncDispose](): Promise<void>
}

export const repository = path.join(import.meta.dirname, '..', '..', '..')

/** What stands in YAML files of the repository. */
export async function manifestsIn(...files: readonly string[]): Promise<Manifest[]> {
  const texts = await Promise.all(files.map((file) => readFile(path.join(repository, file), 'utf8')))
  return texts.flatMap((text) => parseManifests(text) as Manifest[])
}

const userOf = ({ namespace, name }: Account) => `system:serviceaccount:${namespace}:${name}`

export async function startLocal(recipe: Recipe, log: (line: string) => void, signal?: AbortSignal): Promise<LocalPlane> {
  await using undo = new AsyncDisposableStack()
  const joint = await manifestsIn(recipe.joint)
  const dataPlane = joint.find(({ kind }) => kind === 'DataPlane')
  if (!dataPlane) throw new Error(`${recipe.joint} has no DataPlane`)
  const own = (dataPlane.spec as { attachment: { apiVersion: string } }).attachment.apiVersion.split('/')[0] ?? ''
  const server = undo.use(
    await startPlane({ name: 'conformance', auditBodies: [{ group: own }], log, ...(signal ? { signal } : {}) }),
  )
  const { crds, rbac } = nsoManifests()
  await server.apply([...crds, ...recipe.manifests, ...rbac, ...joint] as KubeObject[])
  const kubeconfigFor = (account: Account) => server.kubeconfigFor({ serviceAccount: account })
  const transport = createHttpTransport({
    access: createAccessSource({ clock: systemClock, kubeconfig: server.kubeconfigPath }),
    clock: systemClock,
    userAgent: 'nso-conformance-node/0.1.0',
  })
  undo.defer(() => transport.close())
  const client = createClient(transport, { clock: systemClock, jitter: Math.random })
  const extension = (await recipe.extend?.({ client, kubeconfigFor })) ?? {}
  undo.defer(async () => extension.stop?.())
  const kubeconfig = await kubeconfigFor(recipe.account)
  const { command: kubectl, args } = kubectlCommand({ ...server, kubeconfigPath: kubeconfig }, [])
  const command = recipe.command({ kubeconfig, kubectl: [kubectl, ...args] })
  const running = startProcess(command, path.join(server.dir, 'data-plane.log'))
  undo.defer(() => running.stop())
  const ends = undo.move()
  return {
    plane: {
      ...{ name: dataPlane.metadata.name, version: recipe.version, dataPlane, detachGraceMs: recipe.detachGraceMs },
      ...{ user: userOf(recipe.account), requester: userOf(nsoAccount), auditLog: server.auditLogPath },
      restart: () => running.restart(),
      ...(extension.traffic ? { traffic: extension.traffic } : {}),
      ...(extension.liftEnforcement ? { liftEnforcement: extension.liftEnforcement } : {}),
    },
    kubeconfig: server.kubeconfigPath,
    server,
    failed: Promise.race([running.failed, server.failed]),
    [Symbol.asyncDispose]: () => ends.disposeAsync(),
  }
}
