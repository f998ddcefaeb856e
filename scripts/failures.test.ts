/** Each row of the collected failures of comparable software that this project has taken on is named by a test. */
import assert from 'node:assert/strict'
import { glob, readFile } from 'node:fs/promises'
import path from 'node:path'
import { test } from 'node:test'

const root = path.resolve(import.meta.dirname, '..')

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index)
const taken = [...range(1, 54), 56].map((row) => `B${String(row).padStart(2, '0')}`)

test('every row that was taken on stands in the title of a test', async () => {
  const named = new Set<string>()
  for await (const file of glob(['packages/**/*.ts', 'e2e/**/*.ts'], { cwd: root, exclude: (name) => name === 'node_modules' })) {
    const text = await readFile(path.join(root, file), 'utf8')
    for (const [title] of text.matchAll(/(['"`])(?:[^'"`\n]*\b)?B\d\d\b[^'"`\n]*\1/g)) {
      for (const [row] of title.matchAll(/\bB\d\d\b/g)) named.add(row)
    }
  }
  assert.deepEqual(
    taken.filter((row) => !named.has(row)),
    [],
  )
})
