import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { crdOf, ownershipOf, reasonStatuses } from 'kube-control-loop'
import { documentationGaps, ownershipGaps } from 'kube-control-loop/testing'
import { applications } from './ownership-documents.ts'
import { type Application, headingOf, ownershipPage } from './ownership-page.ts'

const page = ownershipPage(applications)

/** All lists of what does not agree, as one. */
const gaps = (application: Application): string[] => [
  ...Object.values(ownershipGaps(application.kinds, application.table, application.conditions)).flat(),
  ...documentationGaps(application),
]

for (const application of applications) {
  const { title, table, kinds, conditions, identities, names } = application

  test(`${title}: schemas, conditions, table and texts agree`, () => assert.deepEqual(gaps(application), []))

  test(`${title}: each identity of the table is told`, () => {
    const used = table.flatMap(({ status, metadata }) => [...status, ...metadata].map(({ identity }) => identity))
    assert.deepEqual([...new Set(used)].sort(), Object.keys(identities).sort())
  })

  test(`${title}: a row that is taken away is missed`, () => {
    for (const [at, resource] of table.entries())
      for (const owner of resource.status)
        for (const path of owner.owns.filter((each) => !each.endsWith('*'))) {
          const owns = owner.owns.filter((each) => each !== path)
          const status = resource.status.map((each) => (each === owner ? { ...owner, owns } : each))
          const found = gaps({ ...application, table: table.with(at, { ...resource, status }) })
          assert.ok(found.includes(`${resource.kind.kind}.${path}`), `${resource.kind.kind}.${path} in ${found}`)
        }
  })

  test(`${title}: a text that is taken away is missed`, () => {
    for (const [at, resource] of table.entries()) {
      for (const path of Object.keys(resource.texts)) {
        const { [path]: _, ...texts } = resource.texts
        const found = gaps({ ...application, table: table.with(at, { ...resource, texts }) })
        assert.deepEqual(found, [`${resource.kind.kind}.${path} has no text`])
      }
      for (const owner of resource.metadata) {
        const metadata = resource.metadata.map((each) => (each === owner ? { ...owner, source: '' } : each))
        const found = gaps({ ...application, table: table.with(at, { ...resource, metadata }) })
        assert.deepEqual(found, [`${resource.kind.kind}.${owner.path} has no text`])
      }
    }
  })

  test(`${title}: a finalizer, label or annotation whose row is taken away is missed`, () => {
    for (const name of names) {
      const without = table.map((resource) => ({
        ...resource,
        metadata: resource.metadata.filter(({ path, keys }) => !path.endsWith(`/${name}`) && !keys?.includes(name)),
        foreign: resource.foreign?.filter(({ path }) => !path.endsWith(`/${name}`)) ?? [],
      }))
      assert.ok(gaps({ ...application, table: without }).includes(`${name} is in no row`), name)
    }
  })

  test(`${title}: a reason without a text, and a text without a reason, are missed`, () => {
    const listed = Object.entries(conditions).flatMap(([kind, types]) =>
      Object.entries(types).flatMap(([type, { reasons }]) =>
        reasonStatuses.flatMap((status) => reasons[status].map((reason) => ({ kind, type, status, reason }))),
      ),
    )
    assert.ok(listed.length > 0)
    for (const { kind, type, status, reason } of listed) {
      const texts = application.reasons[kind]?.[type]
      assert.ok(texts)
      const { [reason]: text, ...others } = texts[status]
      const changed = (now: typeof others) => ({
        ...application,
        reasons: { ...application.reasons, [kind]: { ...application.reasons[kind], [type]: { ...texts, [status]: now } } },
      })
      const at = `${kind}.conditions/${type} ${status}`
      assert.deepEqual(gaps(changed(others)), [`${at} ${reason} has no text`])
      assert.ok(text)
      assert.deepEqual(gaps(changed({ ...texts[status], [reason]: { ...text, remedy: ' ' } })), [`${at} ${reason} has no text`])
      assert.deepEqual(gaps(changed({ ...texts[status], Odd: text })), [`${at} Odd has a text and is not listed`])
    }
  })

  test(`${title}: the page has every path, and every reason with what it means and what to do`, () => {
    for (const resource of table) {
      const { kind, status, metadata, reserved = [] } = resource
      const section = page.split(`\n### ${headingOf(applications, application, resource)}\n`)[1]?.split('\n### ')[0] ?? ''
      const paths = [
        ...status.flatMap(({ owns }) => owns),
        ...metadata.map(({ path }) => path),
        ...reserved.map(({ path }) => path),
      ]
      for (const path of paths) assert.ok(section.includes(`| \`${path}\``), `${kind.kind} ${path}`)
      for (const types of Object.values(application.reasons[kind.kind] ?? {}))
        for (const texts of Object.values(types))
          for (const [reason, { means, remedy }] of Object.entries(texts)) {
            const line = section.split('\n').find((one) => one.includes(`| \`${reason}\` |`) && one.includes(means.slice(0, 20)))
            assert.ok(line?.includes(remedy.slice(0, 20)), `${kind.kind} ${reason}`)
          }
    }
  })

  test(`${title}: kubectl explain says who writes a field, and from what`, () => {
    for (const kind of kinds) {
      const resource = ownershipOf(kind, table)
      const schema = JSON.stringify(crdOf(kind, resource))
      for (const owner of resource?.status ?? [])
        for (const path of owner.owns) {
          const source = resource?.texts?.[path]?.source ?? ''
          assert.ok(schema.includes(JSON.stringify(`, from ${source}.`).slice(1, -1)), `${kind.kind} ${path}`)
        }
    }
  })
}

/** Of these kinds nothing in metadata may be left untold. */
const toldWhole = [
  'NetworkInterfaceClaim',
  'NetworkInterface',
  'NetworkContext',
  'VPC',
  'VPCAttachment',
  'NetworkAttachmentDefinition of Galactic',
  'BridgeNetwork',
  'BridgeAttachment',
  'NetworkAttachmentDefinition of Bridge',
]

for (const kind of toldWhole) {
  test(`${kind}: the page tells whose its finalizers, labels, annotations and owner references are`, () => {
    const section = page.split(`\n### ${kind}\n`)[1]?.split('\n### ')[0] ?? ''
    const untold = ['finalizers', 'labels', 'annotations', 'ownerReferences'].filter(
      (part) => !section.includes(`| \`metadata.${part}`),
    )
    assert.deepEqual(untold, [])
  })
}

test('links lead to sections of the page, or to files', () => {
  const links = [...page.matchAll(/\]\((?<to>[^)]+)\)/g)].map(({ groups }) => groups?.to ?? '')
  const anchors = [...page.matchAll(/^#+ (?<title>.+)$/gm)].map(
    ({ groups }) => `#${groups?.title?.toLowerCase().replaceAll(' ', '-')}`,
  )
  assert.ok(links.length > 10)
  for (const to of links)
    if (to.startsWith('#')) assert.ok(anchors.includes(to), to)
    else assert.ok(readFileSync(join(import.meta.dirname, '../docs', to), 'utf8').length > 0, to)
})

test('no cell breaks a table', () => {
  const widths = page.split('\n').map((line) => (line.startsWith('|') ? line.replaceAll('\\|', '').split('|').length : 0))
  for (const [at, width] of widths.entries())
    if (width > 0 && widths[at - 1]) assert.equal(width, widths[at - 1], `line ${at + 1}`)
})
