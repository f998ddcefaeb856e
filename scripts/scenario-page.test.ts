/** The scenarios and the page that tells them. */
import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { scenarios } from '../scenarios/index.ts'
import { scenarioPage, sourceOf, stepsOf } from './scenario-page.ts'

const root = join(import.meta.dirname, '..')

test('each scenario stands in a file of its name, and each such file is played', () => {
  for (const scenario of scenarios) assert.ok(existsSync(join(root, sourceOf(scenario))), sourceOf(scenario))
  const files = globSync('scenarios/*.ts', { cwd: root }).filter((file) =>
    /^export const \w+: Scenario = /m.test(readFileSync(join(root, file), 'utf8')),
  )
  assert.deepEqual(files.sort(), scenarios.map(sourceOf).sort())
})

test('each scenario tells its steps, and each way of allocating is played', () => {
  for (const scenario of scenarios) {
    assert.ok(stepsOf(scenario).length > 1, scenario.name)
    const said = readFileSync(join(root, sourceOf(scenario)), 'utf8').match(/\bworld\.step\(/g) ?? []
    assert.equal(stepsOf(scenario).length, said.length, `every step of ${scenario.name} is on the page`)
    assert.match(scenario.about, /^[A-Z].*\.$/)
    assert.ok(scenario.modes.length > 0)
  }
})

test('a page without the place for them is refused', () => {
  assert.throws(() => scenarioPage('# Scenarios'), /lacks/)
})
