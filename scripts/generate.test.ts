import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'

const into = await mkdtemp(join(tmpdir(), 'generate-'))
after(() => rm(into, { recursive: true, force: true }))

const generate = (...args: string[]) =>
  new Promise<{ code: number; output: string }>((resolve) => {
    const file = join(import.meta.dirname, 'generate.ts')
    const child = execFile(process.execPath, [file, '--into', into, ...args], (_error, stdout, stderr) =>
      resolve({ code: child.exitCode ?? 1, output: stdout + stderr }),
    )
  })

test('what was generated verifies; what differs, lacks or is left over is named', async () => {
  assert.equal((await generate()).code, 0)
  assert.equal((await generate('--verify')).code, 0)

  await appendFile(join(into, 'docs/status-ownership.md'), 'by hand\n')
  await rm(join(into, 'config/nso/crd/subnets.yaml'))
  await writeFile(join(into, 'config/galactic/crd/old.yaml'), '')
  const { code, output } = await generate('--verify')
  assert.equal(code, 1)
  const named = output.split('\n').flatMap((line) => (line.startsWith('  ') ? [line.trim()] : []))
  assert.deepEqual(named, ['config/galactic/crd/old.yaml', 'config/nso/crd/subnets.yaml', 'docs/status-ownership.md'])

  assert.equal((await generate()).code, 0)
  assert.equal((await generate('--verify')).code, 0)
})

test('times are text for every reader of YAML', async () => {
  const crd = await readFile(join(into, 'config/nso/crd/networks.yaml'), 'utf8')
  assert.match(crd, /lastTransitionTime: "1970-01-01T00:00:00Z"/)
})
