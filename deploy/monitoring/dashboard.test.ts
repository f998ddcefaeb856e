/** The dashboard against the rules that Grafana's own linter has, and some more. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { dashboard } from './dashboard.ts'
import { rows } from './panels.ts'
import { checked } from './test/promtool.ts'

type Target = { refId: string; expr: string; legendFormat: string; datasource: { uid: string } }
type Panel = {
  id: number
  type: string
  title: string
  description?: string
  datasource?: { type: string; uid: string }
  gridPos: { x: number; y: number; w: number; h: number }
  fieldConfig?: { defaults: { unit?: string } }
  targets?: Target[]
}
type Variable = { name: string; type: string; query: unknown; multi?: boolean; includeAll?: boolean; allValue?: string }
type Stored = {
  uid: string
  title: string
  editable: boolean
  schemaVersion: number
  panels: Panel[]
  templating: { list: Variable[] }
  time: { from: string }
}

const stored = JSON.parse(await readFile(join(import.meta.dirname, 'dashboard.json'), 'utf8')) as Stored
const panels = stored.panels.filter(({ type }) => type !== 'row')

test('the file is what the source makes', () => assert.deepEqual(stored, JSON.parse(JSON.stringify(dashboard()))))

test('it has a name and an id, starts with some hours, and is not edited in place', () => {
  assert.deepEqual(
    [stored.uid, stored.title, stored.editable, stored.time.from],
    ['network-services', 'Network services', false, 'now-3h'],
  )
  assert.ok(stored.schemaVersion >= 36)
})

test('data source, cluster and job are variables, and several or all may be chosen', () => {
  const [source, ...others] = stored.templating.list
  assert.deepEqual([source?.name, source?.type, source?.query], ['datasource', 'datasource', 'prometheus'])
  assert.deepEqual(
    others.map(({ name, multi, includeAll, allValue }) => ({ name, multi, includeAll, allValue })),
    ['cluster', 'job'].map((name) => ({ name, multi: true, includeAll: true, allValue: '.*' })),
  )
})

for (const panel of panels) {
  test(`panel "${panel.title}" is complete`, () => {
    assert.ok(panel.title && panel.description && panel.fieldConfig?.defaults.unit)
    assert.ok(['timeseries', 'stat'].includes(panel.type))
    assert.deepEqual(panel.datasource, { type: 'prometheus', uid: '$datasource' })
    const targets = panel.targets ?? []
    assert.ok(targets.length > 0)
    assert.equal(new Set(targets.map(({ refId }) => refId)).size, targets.length)
    for (const { expr, legendFormat, datasource } of targets) {
      assert.equal(datasource.uid, '$datasource')
      assert.notEqual(legendFormat.trim(), '')
      const isOfApiServer = expr.includes('apiserver_')
      for (const [selector] of expr.matchAll(/\{[^}]*\}/g)) {
        assert.match(selector, /cluster=~"\$cluster"/)
        if (!isOfApiServer) assert.match(selector, /job=~"\$job"/)
      }
      assert.doesNotMatch(expr, /\[\d/, 'a range that does not follow the zoom')
      if (/rate\(/.test(expr)) assert.match(expr, /\[\$__rate_interval\]/)
      assert.match(expr, /^(sum|max|min|histogram_quantile)\b/, 'what is not grouped shows a line for each process')
    }
  })
}

test('ids differ, titles differ, and no two panels lie on each other', () => {
  assert.equal(new Set(stored.panels.map(({ id }) => id)).size, stored.panels.length)
  assert.equal(new Set(stored.panels.map(({ title }) => title)).size, stored.panels.length)
  const taken = new Map<string, string>()
  for (const { title, gridPos } of stored.panels) {
    assert.ok(gridPos.x + gridPos.w <= 24, title)
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
      for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
        assert.equal(taken.get(`${x} ${y}`), undefined, `${title} lies on ${taken.get(`${x} ${y}`)}`)
        taken.set(`${x} ${y}`, title)
      }
    }
  }
})

test('promtool understands every expression', async () => {
  const rules = panels.flatMap(({ id, targets = [] }) =>
    targets.map(({ refId, expr }) => ({ record: `panel:${id}:${refId.toLowerCase()}`, expr: asGrafanaSends(expr) })),
  )
  assert.equal(rules.length, rows.flatMap((row) => row.panels.flatMap((panel) => panel.targets)).length)
  const { ok, output } = await checked({ groups: [{ name: 'panels', rules }] })
  assert.ok(ok, output)
  const broken = await checked({ groups: [{ name: 'panels', rules: [{ record: 'panel:1:a', expr: 'sum by (' }] }] })
  assert.equal(broken.ok, false)
})

const asGrafanaSends = (expr: string): string => expr.replaceAll('$__rate_interval', '1m').replaceAll(/\$(cluster|job)\b/g, '.*')
