/** Ends that nobody planned: Ctrl-C and kill -9 at every moment of a start, and a part that dies. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { makeHome, nothingRuns, nso } from './support/run-nso.ts'

const moments = [
  { name: 'while the control plane starts', line: /starting a control plane/ },
  { name: 'while things are installed', line: /control plane ready/ },
  { name: 'while NSO and Galactic start', line: /installed \d+ manifests/ },
  { name: 'while claims become Ready', line: /claim created/ },
  { name: 'when it is up', line: /The system is up/ },
]

for (const { name, line } of moments) {
  test(`Ctrl-C ${name} ends it soon and leaves nothing`, async (t) => {
    const home = makeHome(t)
    const run = nso(home, ['start'])
    await run.sees(line)
    const since = performance.now()
    // As a terminal and npm do: the same Ctrl-C more than once.
    run.child.kill('SIGINT')
    run.child.kill('SIGINT')
    assert.equal(await run.ended, line.source.includes('is up') ? 0 : 130, run.output())
    assert.ok(performance.now() - since < 15_000, `${performance.now() - since} ms`)
    assert.deepEqual(home.processes(), [])
    assert.deepEqual(home.runs(), [])
    assert.doesNotMatch(run.output(), /Error|\bat /)
  })
}

test('kill -9 at any moment leaves no process, and the next start removes what it left on the disk', async (t) => {
  const home = makeHome(t)
  const killed: string[] = []
  for (const { name, line } of moments) {
    const run = nso(home, ['start'])
    await run.sees(line)
    run.child.kill('SIGKILL')
    await run.ended
    killed.push(String(run.child.pid))
    await nothingRuns(home, 20_000).catch((cause: unknown) => {
      throw new Error(`killed ${name}`, { cause })
    })
    assert.deepEqual(home.runs(), [String(run.child.pid)])
  }
  const next = nso(home, ['start'])
  await next.sees(/starting a control plane/)
  assert.match(next.output(), new RegExp(`removed what runs that did not end in order had left \\(process ${killed.at(-1)}\\)`))
  assert.deepEqual(home.runs(), [String(next.child.pid)])
  next.child.kill('SIGTERM')
  assert.equal(await next.ended, 143)
})

test('NSO dying before the claims are Ready fails the run: how it ended, the end of its log, and where the logs are', async (t) => {
  const home = makeHome(t)
  const run = nso(home, ['start', '--claims', '300'])
  const [, pid] = await run.sees(/NSO \(process (\d+)\)/)
  await run.sees(/claim created/)
  process.kill(Number(pid), 'SIGKILL')
  assert.equal(await run.ended, 1, run.output())
  assert.match(run.output(), /NSO was killed by SIGKILL\. The end of its log:\n {2}\{"level/)
  const [, kept = ''] = run.output().match(/logs of this run are kept in (\S+) /) ?? []
  assert.match(readFileSync(path.join(kept, 'nso.log'), 'utf8'), /"app":"nso"/)
  assert.deepEqual(home.processes(), [])
})
