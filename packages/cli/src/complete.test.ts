import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import process from 'node:process'
import { test } from 'node:test'
import { Command } from 'commander'
import { complete, type NameFlags, type NameSource, renderCompletion } from './complete.ts'
import { addCompletion } from './complete-command.ts'
import { completionScripts } from './complete-scripts.ts'
import { addExplain } from './explain/command.ts'
import { addOwners } from './owners/command.ts'

function program(): Command {
  const nso = new Command('nso').enablePositionalOptions().option('--kubeconfig <file>', 'whose')
  addExplain(nso)
  addOwners(nso)
  addCompletion(nso)
  return nso
}

/** A cluster whose claims are named after the namespace that was asked for. */
function world(): NameSource & { asked: NameFlags[] } {
  const asked: NameFlags[] = []
  return {
    asked,
    async names(kind, flags) {
      asked.push(flags)
      return kind === 'claim' ? ['web-0', 'web-1', `${flags.namespace ?? 'default'}-db`] : ['nic-0']
    },
    namespaces: async () => ['default', 'demo'],
  }
}

const table: { says: string; typed: string[]; want: string[]; directive?: number }[] = [
  { says: 'names the commands', typed: ['ex'], want: ['explain'] },
  { says: 'hides what only shells call', typed: ['__'], want: [] },
  { says: 'goes on after a kind', typed: ['explain', ''], want: ['claim/', 'interface/'], directive: 6 },
  { says: 'names claims after the slash', typed: ['explain', 'claim/we'], want: ['claim/web-0', 'claim/web-1'] },
  { says: 'keeps the word that was typed for the kind', typed: ['explain', 'nicc/web-1'], want: ['nicc/web-1'] },
  { says: 'names interfaces', typed: ['explain', 'nic/'], want: ['nic/nic-0'] },
  { says: 'names claims after the kind as a word', typed: ['explain', 'claim', 'd'], want: ['default-db'] },
  { says: 'explains one object at a time', typed: ['explain', 'claim/web-0', ''], want: [] },
  { says: 'knows no such kind', typed: ['explain', 'pod/'], want: [] },
  { says: 'asks in the namespace that was given', typed: ['explain', '-n', 'demo', 'claim/d'], want: ['claim/demo-db'] },
  { says: 'also after an equals sign', typed: ['explain', '--namespace=demo', 'claim/d'], want: ['claim/demo-db'] },
  { says: 'names namespaces', typed: ['explain', '-n', 'de'], want: ['default', 'demo'] },
  {
    says: 'names namespaces also after an equals sign',
    typed: ['explain', '--namespace=de'],
    want: ['--namespace=default', '--namespace=demo'],
  },
  { says: 'names formats', typed: ['explain', '-o', ''], want: ['text', 'json', 'yaml', 'dump'] },
  { says: 'names options', typed: ['owners', '--c'], want: ['--check'] },
  { says: 'leaves files to the shell', typed: ['explain', '-f', ''], want: [], directive: 0 },
  { says: 'names shells', typed: ['completion', ''], want: ['bash', 'zsh', 'fish'] },
]

for (const { says, typed, want, directive = 4 } of table) {
  test(`completion ${says}: nso ${typed.join(' ')}`, async () => {
    const found = await complete(program(), typed, world())
    assert.deepEqual(
      { values: found.candidates.map(({ value }) => value), directive: found.directive },
      { values: want, directive },
    )
  })
}

test('the answer has the form that kubectl reads', async () => {
  const text = renderCompletion(await complete(program(), ['own'], world()))
  assert.equal(text, 'owners\tprint who writes what, or check a live cluster against it\n:4')
})

/** A command named `nso` that answers as `nso __complete` does, and writes down how it was asked. */
function stub(answer: string): { folder: string; [Symbol.dispose](): void } {
  const folder = mkdtempSync(path.join(tmpdir(), 'nso-complete-'))
  const file = path.join(folder, 'nso')
  writeFileSync(file, `#!/bin/sh\nprintf '%s|' "$@" >"$(dirname "$0")/asked"\nprintf -- '${answer}'\n`)
  chmodSync(file, 0o755)
  return { folder, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) }
}

function inBash(folder: string, words: string[]): { reply: string; asked: string } {
  const script = [
    'COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))',
    `__nso_complete; printf "%s\\n" "\${COMPREPLY[@]}"; echo --; cat "$(dirname "$(command -v nso)")/asked"`,
  ].join('\n')
  const { stdout, stderr, status } = spawnSync('bash', ['-c', `${completionScripts.bash}\n${script}`, 'bash', ...words], {
    env: { ...process.env, PATH: `${folder}:${process.env.PATH}` },
    encoding: 'utf8',
  })
  assert.equal(status, 0, stderr)
  const [reply = '', asked = ''] = stdout.split('--\n')
  return { reply, asked }
}

test('bash takes the candidates, without what stands after the tab and the last line', () => {
  using nso = stub('claim/web-0\\tReady\\nclaim/web-1\\n:4\\n')
  assert.deepEqual(inBash(nso.folder, ['nso', 'explain', 'claim/we']), {
    reply: 'claim/web-0\nclaim/web-1\n',
    asked: '__complete|explain|claim/we|',
  })
})

test('bash asks about an empty word, and runs nothing that a name has in it', () => {
  using nso = stub('$(touch hacked)\\n`touch hacked`\\n:6\\n')
  const { reply, asked } = inBash(nso.folder, ['nso', 'explain', ''])
  assert.equal(asked, '__complete|explain||')
  assert.equal(reply, '$(touch hacked)\n`touch hacked`\n')
})

test('bash, which takes an option with its value for three words, asks with one and takes the value', () => {
  using nso = stub('--namespace=default\\n--namespace=demo\\n:4\\n')
  assert.deepEqual(inBash(nso.folder, ['nso', 'explain', '--namespace', '=', 'de']), {
    reply: 'default\ndemo\n',
    asked: '__complete|explain|--namespace=de|',
  })
  assert.equal(
    inBash(nso.folder, ['nso', 'explain', '--namespace', '=', 'demo', 'claim/w']).asked,
    '__complete|explain|--namespace=demo|claim/w|',
  )
})

test('bash offers nothing where nso fails', () => {
  using nso = stub('x\\n"; exit 1; echo "')
  writeFileSync(path.join(nso.folder, 'nso'), '#!/bin/sh\ntouch "$(dirname "$0")/asked"\nexit 1\n')
  assert.equal(inBash(nso.folder, ['nso', '']).reply, '\n')
})
