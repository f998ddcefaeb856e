/** Rules, dashboard and documentation speak of metrics that there are, with labels that they have. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { foreignWords } from 'galactic/testing'
import { ruleFiles } from './alerts.ts'
import { rows } from './panels.ts'
import { components, metricOf, ofApiServer, ofScraping, registered, usedIn } from './test/registered.ts'

const metrics = registered()
const known = new Map([...metrics, ...ofApiServer].map((each) => [each.name, each]))
const expressions = [
  ...ruleFiles.flatMap(({ groups }) => groups.flatMap(({ alerts }) => alerts.map(({ name, expr }) => ({ where: name, expr })))),
  ...rows.flatMap(({ panels }) =>
    panels.flatMap(({ title, targets }) => targets.map(({ expr }) => ({ where: `panel "${title}"`, expr }))),
  ),
]

test('every metric in rules and dashboard is registered, with the labels that are asked for', () => {
  const wrong = expressions.flatMap(({ where, expr }) => {
    const used = usedIn(expr)
    assert.notEqual(used.length, 0, where)
    return used.flatMap(({ metric, labels }) => {
      const found = known.get(metric) ?? known.get(metricOf(metric))
      if (!found) return [`${where}: ${metric}`]
      const has = [...found.labels, ...ofScraping, ...(metric.endsWith('_bucket') ? ['le'] : [])]
      // Both sides of a division are grouped alike, and each has what it is grouped by.
      return labels.filter((label) => !has.includes(label)).map((label) => `${where}: ${metric}{${label}}`)
    })
  })
  assert.deepEqual(wrong, [])
})

test('counters are read by their growth, and only they', () => {
  for (const { where, expr } of expressions) {
    const grown = new Set([...expr.matchAll(/(?:rate|increase)\((\w+)/g)].map(([, name = '']) => name))
    for (const { metric } of usedIn(expr)) {
      const type = (known.get(metric) ?? known.get(metricOf(metric)))?.type
      assert.equal(grown.has(metric), type === 'counter' || type === 'histogram', `${where}: ${metric} is a ${type}`)
    }
  }
})

test('what a legend shows is grouped by', () => {
  for (const { title, targets } of rows.flatMap(({ panels }) => panels)) {
    for (const { expr, legend } of targets) {
      const shown = [...legend.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = '']) => label)
      const grouped = new Set(usedIn(expr).flatMap(({ labels }) => labels))
      assert.deepEqual(
        shown.filter((label) => !grouped.has(label)),
        [],
        title,
      )
    }
  }
})

/** Rows of the page's table by metric; `<component>` stands for each. */
async function documented(): Promise<Map<string, { type: string; labels: string[] }>> {
  const page = await readFile(join(import.meta.dirname, '../../docs/monitoring.md'), 'utf8')
  const lines = page.matchAll(/^\| `([\w<>]+)`\s*\| (\w+)\s*\| ([\w, ]*)\| \S/gm)
  return new Map(
    [...lines].flatMap(([, name = '', type = '', labels = '']) =>
      (name.startsWith('<component>') ? components : ['']).map((component) => [
        name.replace('<component>', component),
        { type, labels: labels.split(',').flatMap((label) => label.trim() || []) },
      ]),
    ),
  )
}

test('docs/monitoring.md has every metric with its type and labels, and no other', async () => {
  const isOfProcess = (name: string) => /^(process|nodejs)_/.test(name)
  const page = await documented()
  const wanted = new Map(
    metrics.filter(({ name }) => !isOfProcess(name)).map(({ name, type, labels }) => [name, { type, labels: [...labels] }]),
  )
  const sorted = <V>(map: Map<string, V>) => Object.fromEntries([...map].sort(([a], [b]) => (a < b ? -1 : 1)))
  assert.deepEqual(sorted(page), sorted(wanted))
})

test('no label is the name, namespace or uid of an object', () => {
  const labels = new Set(metrics.flatMap((each) => each.labels))
  // `name` is that of a queue or of the lease.
  const named = metrics
    .filter((each) => each.labels.includes('name'))
    .map(({ name }) => name.replace(/^(nso|galactic|bridge)_/, ''))
  assert.deepEqual(
    named.filter((name) => !/^(workqueue|leader_election)_/.test(name)),
    [],
  )
  for (const label of ['namespace', 'uid', 'object', 'claim', 'interface', 'address']) assert.ok(!labels.has(label), label)
})

for (const plane of ['galactic', 'bridge'] as const) {
  test(`${plane}: its rules and metrics name nothing of the system that asks for attachments`, async () => {
    for (const file of [`${plane}.rules.yaml`, `prometheus-rules/${plane}.yaml`]) {
      assert.deepEqual(foreignWords(await readFile(join(import.meta.dirname, file), 'utf8')), [])
    }
    const names = metrics.filter(({ component }) => component === plane).map(({ name }) => name)
    assert.ok(names.length > 0)
    assert.deepEqual(foreignWords(names.join('\n').replaceAll('_', ' ')), [])
  })
}

const samples: { expr: string; used: { metric: string; labels: string[] }[] }[] = [
  {
    expr: 'sum by (a, b) (rate(one_total{c="x{y}",d!~"z"}[5m])) > 0.5',
    used: [{ metric: 'one_total', labels: ['c', 'd', 'a', 'b'] }],
  },
  {
    expr: 'two unless two offset 15m or absent(three{name="n"}) == 0',
    used: [
      { metric: 'two', labels: [] },
      { metric: 'two', labels: [] },
      { metric: 'three', labels: ['name'] },
    ],
  },
]
for (const { expr, used } of samples) {
  test(`reads metrics and labels of: ${expr}`, () => assert.deepEqual(usedIn(expr), used))
}
