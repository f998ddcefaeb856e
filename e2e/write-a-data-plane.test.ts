/** docs/guides/write-a-data-plane.md, as a reader follows it: every command in its order, and the files that it shows. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { guidePage } from '../scripts/guide-page.ts'
import { type Home, makeHome, nothingRuns } from './support/run-nso.ts'

const root = path.resolve(import.meta.dirname, '..')
const page = readFileSync(path.join(root, 'docs', 'guides', 'write-a-data-plane.md'), 'utf8')
const blocks = (language: string) =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, 'gms'))].map(([, text = '']) => text)

/** `npx` without its look at what is installed: that is the test run's own business. */
function shortNpx(home: Home): string {
  const folder = path.join(home.folder, 'bin')
  mkdirSync(folder)
  const nso = path.join(root, 'packages', 'cli', 'src', 'main.ts')
  const script = `#!/bin/sh
program="$1"; shift
case "$program" in
  nso) exec '${process.execPath}' '${nso}' "$@" ;;
  node) exec '${process.execPath}' "$@" ;;
esac
echo "npx $program: not in the guide" >&2; exit 1
`
  writeFileSync(path.join(folder, 'npx'), script, { mode: 0o755 })
  return folder
}

/** One shell for all blocks, which ends at the first command that fails. */
async function follow(home: Home): Promise<{ status: number | null; output: string }> {
  const env = { ...home.env, PATH: `${shortNpx(home)}:${process.env.PATH}` }
  const child = spawn('bash', ['-euo', 'pipefail', '-x', '-s'], { cwd: root, env })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  }
  child.stdin.end(blocks('sh').join('\n'))
  const [status] = await once(child, 'close')
  return { status: status as number | null, output }
}

test('the files that the guide shows are the files that are there', () => {
  assert.equal(guidePage(page), page)
  for (const language of ['ts', 'python']) {
    for (const program of blocks(language)) assert.ok(program.split('\n').length < 100, `${program.slice(0, 60)} … is too long`)
  }
})

test('a reader who follows the guide has two data planes that work and keep the contract', async (t) => {
  const home = makeHome(t)
  const { status, output } = await follow(home)
  assert.equal(status, 0, output)
  const waits = output.match(/condition met/g) ?? []
  assert.equal(waits.length, 3 + 2 + 2, output)
  assert.match(output, /Wire demo\/web[^\n]*\(wires\)/)
  for (const plane of ['wires', 'cables']) assert.match(output, new RegExp(`\\b${plane}\\b`))
  await nothingRuns(home, 20_000)
})
