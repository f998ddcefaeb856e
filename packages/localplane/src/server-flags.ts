/** The command lines of the three programs. All paths are relative to the plane's directory, which is their working directory. */

import { pkiFiles } from './certificates.ts'
import type { ControlPlane } from './control-plane.ts'
import type { Program } from './processes.ts'

export const planeFiles = {
  pki: 'pki',
  tokens: 'tokens.csv',
  auditPolicy: 'audit-policy.json',
  auditLog: 'audit.log',
  etcd: 'etcd',
  adminKubeconfig: 'kubeconfig',
  controllersKubeconfig: 'controllers.kubeconfig',
  kubeconfigs: 'kubeconfigs',
  serverOutput: 'kube-apiserver.log',
  etcdOutput: 'etcd.log',
  controllersOutput: 'kube-controller-manager.log',
  state: 'plane.json',
  lock: 'lock',
} as const

/** What makes owner references, namespaces, service accounts and aggregated roles work, and checks the types of policies. */
export const controllers = [
  'garbage-collector-controller',
  'namespace-controller',
  'serviceaccount-controller',
  'clusterrole-aggregation-controller',
  'validatingadmissionpolicy-status-controller',
]

/** The audit log is never rotated: whoever counts requests reads one file. */
const auditMegabytes = 100_000

export type ServerSettings = {
  port: number
  audit: boolean
  etcdPorts?: { client: number; peer: number }
  extraFlags: readonly string[]
}

const pki = (file: keyof typeof pkiFiles) => `${planeFiles.pki}/${pkiFiles[file]}`

export function apiServerFlags({ port, audit, etcdPorts, extraFlags }: ServerSettings): string[] {
  return [
    '--bind-address=127.0.0.1',
    `--secure-port=${port}`,
    `--tls-cert-file=${pki('server')}`,
    `--tls-private-key-file=${pki('serverKey')}`,
    `--client-ca-file=${pki('authority')}`,
    `--token-auth-file=${planeFiles.tokens}`,
    '--authorization-mode=RBAC',
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${pki('serviceAccountPublicKey')}`,
    `--service-account-signing-key-file=${pki('serviceAccountKey')}`,
    '--service-cluster-ip-range=10.0.0.0/24',
    '--endpoint-reconciler-type=none',
    ...(audit
      ? [
          `--audit-policy-file=${planeFiles.auditPolicy}`,
          `--audit-log-path=${planeFiles.auditLog}`,
          `--audit-log-maxsize=${auditMegabytes}`,
          '--audit-log-mode=blocking',
        ]
      : []),
    ...(etcdPorts ? [`--etcd-servers=http://127.0.0.1:${etcdPorts.client}`] : []),
    ...extraFlags,
  ]
}

/** The API server's program: with etcd inside it when both are one program. */
export function apiServerProgram(programs: ControlPlane, settings: ServerSettings): Program {
  const { apiServer, etcd } = programs
  const ownFlags = etcd ? [] : ['--exit-with-stdin', '--']
  return { ...apiServer, args: [...apiServer.args, ...ownFlags, ...apiServerFlags(settings)] }
}

/** Throw-away data need not survive a power cut, so etcd does not wait for the disk. */
export function etcdProgram(etcd: Program, { client, peer }: { client: number; peer: number }): Program {
  const urls = { client: `http://127.0.0.1:${client}`, peer: `http://127.0.0.1:${peer}` }
  const flags = [
    '--name=localplane',
    `--data-dir=${planeFiles.etcd}/data`,
    `--listen-client-urls=${urls.client}`,
    `--advertise-client-urls=${urls.client}`,
    `--listen-peer-urls=${urls.peer}`,
    `--initial-advertise-peer-urls=${urls.peer}`,
    `--initial-cluster=localplane=${urls.peer}`,
    '--unsafe-no-fsync',
    '--log-level=error',
  ]
  return { ...etcd, args: [...etcd.args, ...flags] }
}

export function controllerManagerProgram(manager: Program): Program {
  const flags = [
    `--kubeconfig=${planeFiles.controllersKubeconfig}`,
    `--controllers=${controllers.join(',')}`,
    '--leader-elect=false',
    '--secure-port=0',
    '--kube-api-qps=500',
    '--kube-api-burst=1000',
  ]
  const tether = manager.tether === 'stdin' ? ['--exit-with-stdin'] : []
  return { ...manager, args: [...manager.args, ...tether, ...flags] }
}

/**
 * Collects garbage less often than by default, which makes bursts 20 to 30 % faster, until the process is large.
 * Settings of the user's own environment win.
 */
export function memoryEnvironment(limit: '2GiB' | '512MiB'): NodeJS.ProcessEnv {
  return { GOGC: '300', GOMEMLIMIT: limit, ...process.env }
}
