/** docs/events.md names every Event of NSO, by the kind that it is about, and what Galactic and bridge tell; and no other. */
import assert from 'node:assert/strict'
import { glob, readFile } from 'node:fs/promises'
import path from 'node:path'
import { test } from 'node:test'
import { eventReasons } from '@nso/operator'

const root = path.resolve(import.meta.dirname, '..')
const page = await readFile(path.join(root, 'docs/events.md'), 'utf8')

/** Heading to the reasons in the first cells of its table. */
const documented = new Map(
  page
    .split(/^## /m)
    .slice(1)
    .map((part): [string, string[]] => {
      const [heading = ''] = part.split('\n')
      const cells = [...part.matchAll(/^\| (`[^|]*`) +\|/gm)].map(([, cell = '']) => cell)
      return [heading, cells.flatMap((cell) => [...cell.matchAll(/`(\w+)`/g)].map(([, reason = '']) => reason))]
    }),
)

for (const [kind, reasons] of Object.entries(eventReasons)) {
  test(`the page has the events of a ${kind}, each once`, () => {
    assert.deepEqual(documented.get(kind)?.toSorted(), reasons.toSorted())
  })
}

/** Reasons of Events that are recorded as they stand in the source. */
async function written(): Promise<Set<string>> {
  const found = new Set<string>()
  for await (const file of glob('packages/{runtime,galactic,bridge}/src/**/*.ts', { cwd: root })) {
    if (file.endsWith('.test.ts')) continue
    const text = await readFile(path.join(root, file), 'utf8')
    for (const [, reason = ''] of text.matchAll(/reason: '([A-Z]\w+)', action: '/g)) found.add(reason)
  }
  return found
}

test('the page has what the runtime and the data planes tell', async () => {
  const headings = [...documented.keys()].filter((heading) => !(heading in eventReasons))
  assert.deepEqual(headings.flatMap((heading) => documented.get(heading) ?? []).toSorted(), [...(await written())].toSorted())
})
