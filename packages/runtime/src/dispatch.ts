/** Hands keys to as many workers as there may be, without a loop that waits. */

export type Dispatcher = {
  /** Something can be taken: looks soon, not at once, so that no pass begins in the middle of a cache's round of callbacks. */
  wake(): void
  /** Works until `stop` is aborted; resolves when nothing is in work any more. */
  run(stop: AbortSignal): Promise<void>
}

/** `work` must not reject: a rejection frees the worker and is otherwise ignored. */
export function createDispatcher<T>(limit: number, take: () => T | undefined, work: (item: T) => Promise<void>): Dispatcher {
  let look = () => {}
  let isScheduled = false
  return {
    wake() {
      if (isScheduled) return
      isScheduled = true
      queueMicrotask(() => {
        isScheduled = false
        look()
      })
    },
    run: (stop) =>
      new Promise((resolve) => {
        let active = 0
        const free = () => {
          active -= 1
          pump()
        }
        const pump = () => {
          while (!stop.aborted && active < limit) {
            const item = take()
            if (item === undefined) return
            active += 1
            work(item).then(free, free)
          }
          if (stop.aborted && active === 0) resolve()
        }
        look = pump
        stop.addEventListener('abort', pump)
        pump()
      }),
  }
}
