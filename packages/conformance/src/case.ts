/** A case: one rule, tried. */
import type { Bench } from './bench.ts'
import type { CaseName } from './rules.ts'
import type { Verdict } from './verdict.ts'
import { inWorld, type World } from './world.ts'

export type Case = {
  readonly name: CaseName
  /** Without these it can show nothing: where one of them failed it is skipped. */
  readonly needs: readonly CaseName[]
  run(bench: Bench, signal: AbortSignal): Promise<Verdict>
}

/** A case that asks the data plane for something, in a namespace of its own. */
export const inNamespace = (name: CaseName, needs: readonly CaseName[], run: (world: World) => Promise<Verdict>): Case => ({
  name,
  needs,
  run: (bench, signal) => inWorld(bench, name, run, signal),
})

/** Does `work` for each item, at most so many at once. Rejects with the first failure when all that began has ended. */
export async function each<T>(
  items: readonly T[],
  atOnce: number,
  work: (item: T, index: number) => Promise<void>,
): Promise<void> {
  let next = 0
  const failures: unknown[] = []
  const worker = async () => {
    while (next < items.length && failures.length === 0) {
      const index = next++
      await work(items[index] as T, index).catch((error: unknown) => failures.push(error))
    }
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, worker))
  if (failures.length > 0) throw failures[0]
}
