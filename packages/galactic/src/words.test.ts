import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { foreignWords } from '../testing/foreign-words.ts'

const repository = join(import.meta.dirname, '../../..')

/** Files under a folder, without what is installed or built. */
function filesUnder(folder: string): string[] {
  const entries = readdirSync(join(repository, folder), { withFileTypes: true, recursive: true })
  return entries
    .filter((entry) => entry.isFile() && !/node_modules|\/dist\b/.test(entry.parentPath))
    .map((entry) => join(entry.parentPath, entry.name))
}

const folders = [
  'packages/galactic',
  'packages/bridge',
  'packages/runtime',
  'packages/multus',
  'packages/ipam',
  'config/galactic',
  'config/bridge',
]

/** A kind whose requests that system makes is the address service's own. */
const ownKinds: Readonly<Record<string, string>> = { 'packages/ipam': ['IP', 'Claim'].join('') }

for (const folder of folders) {
  test(`${folder} names nothing of the system that asks for attachments`, () => {
    const files = filesUnder(folder)
    assert.ok(files.length > 0)
    const found = files.flatMap((file) =>
      foreignWords(readFileSync(file, 'utf8'), ownKinds[folder]).map((word) => `${file}: ${word}`),
    )
    assert.deepEqual(found, [])
  })
}

test('no file is named after it', () => {
  for (const folder of folders) {
    const files = filesUnder(folder).map((file) => file.slice(repository.length))
    assert.deepEqual(
      files.flatMap((file) => foreignWords(file, ownKinds[folder])),
      [],
    )
  }
})

test('it is imported nowhere: these packages depend on the runtime, what Multus says, and public libraries only', () => {
  for (const folder of ['galactic', 'bridge']) {
    const { dependencies } = JSON.parse(readFileSync(join(repository, 'packages', folder, 'package.json'), 'utf8'))
    const names = ['commander', 'kube-control-loop', 'kube-multus', 'typebox']
    assert.deepEqual(Object.keys(dependencies).sort(), names, folder)
  }
  const { dependencies } = JSON.parse(readFileSync(join(repository, 'packages', 'ipam', 'package.json'), 'utf8'))
  assert.deepEqual(Object.keys(dependencies).sort(), ['commander', 'ip-address', 'kube-control-loop', 'typebox'])
})

test('the list of words finds what it is for, and leaves alone what only looks alike', () => {
  const group = ['networking', 'datumapis', 'com'].join('.')
  const kind = ['Network', 'Interface', 'Claim'].join('')
  const short = ['Data', 'Plane'].join('')
  for (const text of [`apiVersion: ${group}/v1`, `a ${kind}`, kind.toLowerCase(), `kind: ${short}`, ['N', 'S', 'O'].join('')]) {
    assert.equal(foreignWords(`fine\n${text}`).length > 0, true, text)
  }
  for (const text of [
    `Awaiting${short}`,
    'podSubnet',
    'network.datumapis.com',
    'unsound',
    'consonant',
    'NetworkAttachmentDefinition',
  ]) {
    assert.deepEqual(foreignWords(text), [], text)
  }
})
