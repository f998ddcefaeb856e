import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'

test('every error code is in the README, and no other', async () => {
  const source = await readFile(new URL('./errors.ts', import.meta.url), 'utf8')
  const codes = [...source.matchAll(/^ {2}\| '([A-Z_]+)'$/gm)].map(([, code]) => code)
  const readme = await readFile(new URL('../README.md', import.meta.url), 'utf8')
  const documented = [...readme.slice(readme.indexOf('## Errors')).matchAll(/^\| `([A-Z_]+)`/gm)].map(([, code]) => code)
  assert.deepEqual(documented.toSorted(), codes.toSorted())
  assert.ok(codes.length > 5)
})
