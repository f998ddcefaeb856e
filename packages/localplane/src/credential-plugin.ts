/** Credential plugins of kubeconfigs (client.authentication.k8s.io): a program that prints a token or a certificate. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { LocalplaneError } from './errors.ts'
import type { Credential } from './kubeconfig.ts'

export type CredentialPlugin = {
  apiVersion?: string
  command: string
  args?: string[]
  env?: { name: string; value: string }[]
}

/** Runs it in the kubeconfig's directory, as kubectl does for relative commands. Rejects with what the program complained about. */
export async function runCredentialPlugin(plugin: CredentialPlugin, dir: string): Promise<Credential> {
  const { apiVersion = 'client.authentication.k8s.io/v1', command, args = [], env = [] } = plugin
  const request = { apiVersion, kind: 'ExecCredential', spec: { interactive: false } }
  const added = Object.fromEntries(env.map(({ name, value }) => [name, value]))
  const environment = { ...process.env, ...added, KUBERNETES_EXEC_INFO: JSON.stringify(request) }
  try {
    const { stdout } = await promisify(execFile)(command, args, { cwd: dir, env: environment })
    const status = (JSON.parse(stdout) as { status?: Record<string, string> }).status ?? {}
    if (status.token) return { token: status.token }
    const { clientCertificateData: certificate, clientKeyData: key } = status
    if (certificate && key) return { certificate, key }
    throw new Error('it printed neither a token nor a certificate')
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message.trim() : String(cause)
    throw new LocalplaneError('NO_CREDENTIALS', `the credential plugin ${command} failed: ${reason}`, { cause })
  }
}
