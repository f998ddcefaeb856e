/** Refuses imports against the arrows of ARCHITECTURE.md, and relative imports that climb out of their package. */
import assert from 'node:assert/strict'
import { glob, readFile } from 'node:fs/promises'
import path from 'node:path'
import { test } from 'node:test'

const root = path.resolve(import.meta.dirname, '..')

/** Folder → packages of this repository that its sources, and besides those its tests, may import. */
const arrows: Readonly<Record<string, { sources: readonly string[]; tests: readonly string[] }>> = {
  runtime: { sources: [], tests: ['kube-control-loop', 'kube-localplane'] },
  localplane: { sources: [], tests: ['kube-localplane'] },
  ipam: { sources: ['kube-control-loop'], tests: ['kube-ipam', 'kube-localplane'] },
  multus: { sources: ['kube-control-loop'], tests: ['kube-multus', 'kube-localplane'] },
  api: { sources: ['kube-control-loop'], tests: ['@nso/api', 'kube-localplane'] },
  galactic: { sources: ['kube-control-loop', 'kube-multus'], tests: ['galactic', 'kube-localplane'] },
  bridge: { sources: ['kube-control-loop', 'kube-multus'], tests: ['kube-bridge', 'kube-localplane'] },
  operator: {
    sources: ['@nso/api', 'kube-control-loop', 'kube-ipam'],
    tests: ['@nso/operator', 'galactic', 'kube-localplane'],
  },
  // Its `planes/` bring the data planes of this repository to the suite, whose `src/` names none of them.
  conformance: {
    sources: ['@nso/api', '@nso/operator', 'kube-control-loop'],
    tests: ['@nso/conformance', 'galactic', 'kube-bridge', 'kube-multus', 'kube-localplane'],
  },
  cli: {
    sources: [
      '@nso/api',
      '@nso/conformance',
      '@nso/operator',
      'galactic',
      'kube-bridge',
      'kube-control-loop',
      'kube-ipam',
      'kube-localplane',
      'kube-multus',
    ],
    tests: ['@nso/cli'],
  },
}
const ours = [
  'kube-control-loop',
  'kube-localplane',
  'kube-multus',
  'kube-ipam',
  'kube-bridge',
  '@nso/api',
  '@nso/conformance',
  '@nso/operator',
  '@nso/cli',
  'galactic',
]

type Import = { file: string; specifier: string }

async function importsOf(folder: string): Promise<Import[]> {
  const found: Import[] = []
  for await (const file of glob(`packages/${folder}/**/*.ts`, { cwd: root, exclude: (name) => name === 'node_modules' })) {
    const text = await readFile(path.join(root, file), 'utf8')
    for (const [, specifier = ''] of text.matchAll(/(?:\bfrom\s+|\bimport\s*\(?\s*)'([^']+)'/g)) found.push({ file, specifier })
  }
  return found
}

function packageOf(specifier: string): string | undefined {
  return ours.find((name) => specifier === name || specifier.startsWith(`${name}/`))
}

/** What is wrong with one import, or undefined. */
function fault({ file, specifier }: Import, folder: string): string | undefined {
  const home = path.join('packages', folder)
  if (specifier.startsWith('.')) {
    const target = path.normalize(path.join(path.dirname(file), specifier))
    if (!target.startsWith(home + path.sep)) return `${file}: '${specifier}' climbs out of its package`
    const fromSource = file.startsWith(path.join(home, 'src')) && !file.endsWith('.test.ts')
    const intoTests = target.endsWith('.test.ts') || target.startsWith(path.join(home, 'test') + path.sep)
    return fromSource && intoTests ? `${file}: a source imports a test ('${specifier}')` : undefined
  }
  const name = packageOf(specifier)
  if (name === undefined) return undefined
  const rule = arrows[folder]
  const isSource = file.startsWith(path.join(home, 'src')) && !file.endsWith('.test.ts')
  const allowed = isSource ? rule?.sources : [...(rule?.sources ?? []), ...(rule?.tests ?? [])]
  return allowed?.includes(name) ? undefined : `${file}: may not import '${specifier}'`
}

for (const folder of Object.keys(arrows)) {
  test(`packages/${folder} imports along the arrows only`, async () => {
    const imports = await importsOf(folder)
    assert.ok(imports.length > 0, `no imports found in packages/${folder}: the test looks in the wrong place`)
    assert.deepEqual(
      imports.map((one) => fault(one, folder)).filter((text) => text !== undefined),
      [],
    )
  })
}

test('the check finds an import against an arrow, a climb, and a source that imports a test', () => {
  const source = (specifier: string, file = 'packages/runtime/src/queue.ts') => fault({ file, specifier }, 'runtime')
  assert.match(source('@nso/api') ?? '', /may not import/)
  assert.match(source('galactic/testing') ?? '', /may not import/)
  assert.match(source('../../api/src/index.ts') ?? '', /climbs out/)
  assert.match(source('./queue.test.ts') ?? '', /imports a test/)
  assert.match(source('kube-localplane') ?? '', /may not import/)
  assert.equal(fault({ file: 'packages/runtime/test/queue.test.ts', specifier: 'kube-localplane/testing' }, 'runtime'), undefined)
  assert.equal(source('./backoff.ts'), undefined)
})

test('every package of the workspace has its arrows', async () => {
  const folders: string[] = []
  for await (const file of glob('packages/*/package.json', { cwd: root })) folders.push(path.basename(path.dirname(file)))
  assert.deepEqual(folders.sort(), Object.keys(arrows).sort())
})
