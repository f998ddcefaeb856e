/** An abort signal of its own that also follows another one, and lets go of it: nothing piles up on a long-lived signal. */

export type LinkedSignal = {
  readonly signal: AbortSignal
  abort(reason: unknown): void
  /** Stops following. Call when done, whatever the end was. */
  release(): void
}

export function linkedSignal(...parents: readonly AbortSignal[]): LinkedSignal {
  const own = new AbortController()
  const undo: (() => void)[] = []
  const release = () => {
    for (const each of undo.splice(0)) each()
  }
  for (const parent of parents) {
    const follow = () => own.abort(parent.reason)
    if (parent.aborted) {
      follow()
      break
    }
    parent.addEventListener('abort', follow, { once: true })
    undo.push(() => parent.removeEventListener('abort', follow))
  }
  return { signal: own.signal, abort: (reason) => own.abort(reason), release }
}

/** Resolves when the signal is aborted. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

/**
 * The items of `source` until it ends or the signal is aborted, even when `source` itself never notices: a read that hangs
 * is left behind. Rejects with the signal's reason.
 */
export async function* untilAborted<T>(source: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T, void, undefined> {
  const iterator = source[Symbol.asyncIterator]()
  let giveUp: (reason: unknown) => void = () => {}
  const follow = () => giveUp(signal.reason)
  signal.addEventListener('abort', follow, { once: true })
  try {
    for (;;) {
      const next = await new Promise<IteratorResult<T>>((resolve, reject) => {
        giveUp = reject
        if (signal.aborted) return reject(signal.reason)
        iterator.next().then(resolve, reject)
      })
      if (next.done) return
      yield next.value
    }
  } finally {
    signal.removeEventListener('abort', follow)
    iterator.return?.()?.then(undefined, () => {})
  }
}
