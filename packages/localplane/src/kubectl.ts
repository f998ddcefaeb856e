/** kubectl without one on PATH: the control plane's own. */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import type { ControlPlane } from './control-plane.ts'
import { LocalplaneError } from './errors.ts'

export type KubectlTarget = { kubeconfigPath: string; programs: ControlPlane; dir?: string }
export type KubectlResult = { code: number; stdout: string; stderr: string }

/** The command line and environment that run kubectl against a plane, for callers that connect it to a terminal. */
export function kubectlCommand(
  target: KubectlTarget,
  args: readonly string[],
): { command: string; args: string[]; env: NodeJS.ProcessEnv } {
  const program = target.programs.kubectl
  if (!program) throw new LocalplaneError('ASSETS_INCOMPLETE', 'KUBEBUILDER_ASSETS has no kubectl')
  const cache = target.dir ? { KUBECACHEDIR: join(target.dir, 'kubectl-cache') } : {}
  return {
    command: program.command,
    args: [...program.args, ...args],
    env: { ...process.env, KUBECONFIG: target.kubeconfigPath, ...cache },
  }
}

/** Runs it to its end with `input` as its standard input. Resolves with whatever it answered, failures included. */
export async function kubectl(target: KubectlTarget, args: readonly string[], input = ''): Promise<KubectlResult> {
  const { command, args: all, env } = kubectlCommand(target, args)
  const child = spawn(command, all, { env, stdio: ['pipe', 'pipe', 'pipe'] })
  const result: KubectlResult = { code: -1, stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    result.stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    result.stderr += text
  })
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  return await new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve({ ...result, code: code ?? -1 }))
  })
}
