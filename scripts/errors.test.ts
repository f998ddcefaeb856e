/** docs/errors.md names every stable error code that the packages have, and no other. */
import assert from 'node:assert/strict'
import { glob, readFile } from 'node:fs/promises'
import path from 'node:path'
import { test } from 'node:test'

const root = path.resolve(import.meta.dirname, '..')

async function codesInSource(): Promise<Set<string>> {
  const codes = new Set<string>()
  for await (const file of glob('packages/*/src/**/*.ts', { cwd: root, exclude: (name) => name === 'node_modules' })) {
    if (file.endsWith('.test.ts')) continue
    const text = await readFile(path.join(root, file), 'utf8')
    for (const [, code = ''] of text.matchAll(/readonly code = '([A-Z_]+)'/g)) codes.add(code)
    const union = /type \w+ErrorCode =((?:\s*\|\s*'[A-Z_]+')+)/.exec(text)
    for (const [, code = ''] of (union?.[1] ?? '').matchAll(/'([A-Z_]+)'/g)) codes.add(code)
  }
  return codes
}

test('the page and the code know the same error codes', async () => {
  const page = await readFile(path.join(root, 'docs/errors.md'), 'utf8')
  const documented = [...page.matchAll(/^\| `([A-Z_]+)`\s+\|/gm)].map(([, code]) => code)
  assert.equal(new Set(documented).size, documented.length, 'a code is documented twice')
  const inSource = await codesInSource()
  assert.ok(inSource.size > 10, 'the search for codes found almost none: it looks in the wrong place')
  assert.deepEqual(documented.toSorted(), [...inSource].sort())
})
