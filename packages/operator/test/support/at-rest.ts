/** When an NSO has nothing in hand, told by its own metrics. */
import assert from 'node:assert/strict'
import { eventually } from 'kube-localplane/testing'
import type { Operator } from '../../src/app.ts'

/** Sum over all samples of that name, of one controller or of all. */
export async function total(operator: Operator, name: string, controller?: string): Promise<number> {
  const page = await operator.manager.metrics.page()
  const lines = page
    .split('\n')
    .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
    .filter((line) => controller === undefined || line.includes(`controller="${controller}"`))
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0)
}

export const passesOf = (operator: Operator, controller: string) =>
  total(operator, 'controller_runtime_reconcile_total', controller)

/** No key waits for a worker and none is in work. Keys that wait for a time do not count. */
export async function isAtRest(operator: Operator): Promise<boolean> {
  return (await total(operator, 'workqueue_depth')) + (await total(operator, 'controller_runtime_active_workers')) === 0
}

/** Waits until so many passes of a controller were made since `before`, and nothing is in hand. */
export function passed(operator: Operator, controller: string, before: number, count: number): Promise<true> {
  return eventually(`${count} passes of ${controller}`, async () => {
    const made = (await passesOf(operator, controller)) - before
    assert.ok(made >= count, `${made} were made`)
    return await isAtRest(operator)
  })
}
