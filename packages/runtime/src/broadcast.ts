/** Callbacks that all hear the same messages in the same order, also when one of them causes the next message. */

export type Broadcast<M> = {
  subscribe(handler: (message: M) => void): () => void
  /** All of them, one after the other; those of a call made meanwhile come after. */
  tell(messages: readonly M[]): void
}

/** A handler that throws is reported to `onError`; the others still hear. */
export function createBroadcast<M>(onError: (error: unknown) => void): Broadcast<M> {
  const handlers = new Set<(message: M) => void>()
  const waiting: M[] = []
  let telling = false

  const toAll = (message: M) => {
    for (const handler of [...handlers]) {
      try {
        handler(message)
      } catch (error) {
        onError(error)
      }
    }
  }

  return {
    subscribe(handler) {
      // Wrapped, so that one function subscribed twice counts twice.
      const own = (message: M) => handler(message)
      handlers.add(own)
      return () => handlers.delete(own)
    },
    tell(messages) {
      for (const message of messages) waiting.push(message)
      if (telling) return
      telling = true
      // By position: shifting a long list costs its length each time.
      for (let at = 0; at < waiting.length; at += 1) toAll(waiting[at] as M)
      waiting.length = 0
      telling = false
    },
  }
}
