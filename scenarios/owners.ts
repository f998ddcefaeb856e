/** Holds what is stored against the ownership tables while scenarios are played: the policies refuse, and this looks. */
import { answerOwners } from '@nso/cli/owners'
import { systemClock } from 'kube-control-loop'

export type OwnersWatch = {
  /** Ends it, after one more look; resolves with what was not as documented, each once. Can be repeated. */
  end(): Promise<readonly string[]>
}

const everyMs = 5000

/** Looks at all objects again and again, from now on. */
export function watchOwners(kubeconfig: string): OwnersWatch {
  const found = new Set<string>()
  const ending = new AbortController()
  const look = async () => {
    const { text, status } = await answerOwners(undefined, { check: true, kubeconfig, output: 'text' })
    if (status !== 0) found.add(text)
  }
  const looking = (async () => {
    while (!ending.signal.aborted) {
      await look()
      await systemClock.sleep(everyMs, ending.signal).catch(() => {})
    }
  })()
  // Told by `end`.
  looking.catch(() => {})
  const finish = async () => {
    ending.abort()
    await looking
    await look()
    return [...found]
  }
  let finished: Promise<readonly string[]> | undefined
  return {
    end() {
      finished ??= finish()
      return finished
    },
  }
}
