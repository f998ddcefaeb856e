/** The alerts: who fires on which fault, who stays quiet on routine, and that this table would notice if it were otherwise. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { claimConditions } from '@nso/api'
import { attachmentConditions } from 'kube-bridge/api'
import { parse } from 'yaml'
import { type Alert, misreported, type RuleFile, requestersReasons, ruleFiles, rulesOf, runbookOf } from './alerts.ts'
import { promtool, type Row, tried } from './test/promtool.ts'
import { routineStorm, rowsOf } from './test/rows.ts'

before(async () => assert.ok((await promtool('--version')).ok))

const alertsOf = ({ groups }: RuleFile): readonly Alert[] => groups.flatMap(({ alerts }) => alerts)

for (const file of ruleFiles) {
  test(`${file.name}: both files hold these rules, and promtool finds nothing wrong`, async () => {
    const at = (...parts: string[]) => join(import.meta.dirname, ...parts)
    const plain = at(`${file.name}.rules.yaml`)
    assert.deepEqual(parse(await readFile(plain, 'utf8')), rulesOf(file))
    const object = parse(await readFile(at('prometheus-rules', `${file.name}.yaml`), 'utf8'))
    assert.deepEqual(object.spec, rulesOf(file))
    const { ok, output } = await promtool('check', 'rules', '--lint=all', '--lint-fatal', plain)
    assert.ok(ok, output)
  })

  const rows = rowsOf[file.name] ?? []
  for (const row of rows) {
    test(`${file.name}: ${row.says}`, async () => {
      const { ok, output } = await tried({ rules: rulesOf(file), rows: [row] })
      assert.ok(ok, output)
    })
  }

  test(`${file.name}: every alert fires in some row, and every row looks`, () => {
    const firing = new Set(rows.flatMap(({ at }) => at.flatMap(([, fires]) => fires.map(({ alertname }) => alertname))))
    assert.deepEqual(
      [...firing].sort(),
      alertsOf(file)
        .map(({ name }) => name)
        .sort(),
    )
    assert.deepEqual(
      rows.filter(({ at }) => at.length === 0),
      [],
    )
  })
}

const alone = (alert: Alert): object => rulesOf({ name: 'one', groups: [{ name: 'one', alerts: [alert] }] })

/** Ways to get an alert wrong; undefined where it has nothing of the kind. */
const mistakes: Readonly<Record<string, (alert: Alert) => Alert | undefined>> = {
  'never fires': (alert) => ({ ...alert, expr: `(${alert.expr}) > 1e12` }),
  'fires whatever happens': (alert) => ({ ...alert, expr: `vector(1) or (${alert.expr})` }),
  'does not wait': ({ for: wait, ...alert }) => (wait === undefined ? undefined : alert),
  'lets go at once': ({ keepFiringFor, ...alert }) => (keepFiringFor === undefined ? undefined : alert),
  'has half the threshold': (alert) => scaled(alert, 0.5),
  'has twice the threshold': (alert) => scaled(alert, 2),
}

/** The first threshold that is not zero. */
function scaled(alert: Alert, by: number): Alert | undefined {
  const expr = alert.expr.replace(/(>=?) ([0-9.]+)/, (all, sign, value) => (Number(value) === 0 ? all : `${sign} ${value * by}`))
  return expr === alert.expr ? undefined : { ...alert, expr }
}

/** Rows that can tell an alert that is wrong from the right one, seen by this alert alone. */
function rowsAbout({ name, expr }: Alert, rows: readonly Row[]): Row[] {
  const own = rows.map((row) => ({
    ...row,
    at: row.at.map(([minute, fires]) => [minute, fires.filter(({ alertname }) => alertname === name)] as const),
  }))
  // What stands at 1 all the time is scenery: there is a leader.
  const speaks = ([series, values]: [string, string]) =>
    !values.startsWith('1+0x') && expr.includes(series.slice(0, series.indexOf('{')))
  return own.filter(({ world, at }) => at.some(([, fires]) => fires.length > 0) || Object.entries(world).some(speaks))
}

for (const file of ruleFiles) {
  test(`${file.name}: a mistake in any one alert is noticed`, async () => {
    const rows = rowsOf[file.name] ?? []
    const wrong = alertsOf(file).flatMap((alert) =>
      Object.entries(mistakes).flatMap(([mistake, make]) => {
        const changed = make(alert)
        return changed ? [{ what: `${alert.name} ${mistake}`, rules: alone(changed), rows: rowsAbout(alert, rows) }] : []
      }),
    )
    const unnoticed: string[] = []
    for (const { what, ...trial } of wrong) if ((await tried(trial)).ok) unnoticed.push(what)
    assert.deepEqual(unnoticed, [])
  })
}

const critical = 'ControllerReconcileErrorRatioCritical'

function criticalAlone(change: (alert: Alert) => Alert): object {
  const found = ruleFiles.flatMap(alertsOf).find(({ name }) => name === critical)
  assert.ok(found)
  return alone(change(found))
}
const withoutFloor = (alert: Alert): Alert => ({ ...alert, expr: alert.expr.replace(/ and .*/, '') })
const fires = [{ alertname: critical, controller: 'networkinterfaceclaim' }]
const storm = (world: Row['world'], firing: boolean): Row[] => [
  { says: 'storm', world, at: [60, 90, 120, 170].map((minute) => [minute, firing ? fires : []] as const) },
]

test('why races are no errors and why the floor: without both, the routine storm keeps the critical alert firing', async () => {
  const { ok, output } = await tried({ rules: criticalAlone(withoutFloor), rows: storm(routineStorm.original, true) })
  assert.ok(ok, output)
})

test('the floor alone quietens it, and so does counting races as what they are', async () => {
  for (const trial of [
    { rules: criticalAlone((alert) => alert), rows: storm(routineStorm.original, false) },
    { rules: criticalAlone(withoutFloor), rows: storm(routineStorm.ours, false) },
  ]) {
    const { ok, output } = await tried(trial)
    assert.ok(ok, output)
  }
})

test('texts use only labels that their expression keeps', () => {
  for (const { name, expr, summary, description } of ruleFiles.flatMap(alertsOf)) {
    const used = [...`${summary} ${description}`.matchAll(/\$labels\.(\w+)/g)].map(([, label = '']) => label)
    const kept = [...expr.matchAll(/by \(([^)]*)\)/g)].map(([, labels = '']) => labels.split(', '))
    // What an absent series has is what it was asked for by.
    const asked = [...expr.matchAll(/absent\(\w+\{(\w+)=/g)].map(([, label = '']) => label)
    const missing = used.filter((label) => !asked.includes(label) && !kept.every((labels) => labels.includes(label)))
    assert.deepEqual(missing, [], name)
  }
})

test('reasons that are left to a claim’s author are reasons of Ready', () => {
  for (const reason of requestersReasons) assert.ok(claimConditions.Ready.lists('False', reason), reason)
})

test('reasons for which a report counts as wrong are reasons of Programmed', () => {
  const { Programmed } = attachmentConditions
  for (const reason of misreported)
    assert.ok(
      (['False', 'Unknown'] as const).some((status) => Programmed.lists(status, reason)),
      reason,
    )
})

test('every alert has a section of the page it links to, with a first command, and there is no other section', async () => {
  const page = await readFile(join(import.meta.dirname, '../../docs/monitoring.md'), 'utf8')
  const sections = page.split(/^#+ /m).slice(1)
  const alerts = ruleFiles.flatMap(alertsOf)
  for (const alert of alerts) {
    assert.equal(runbookOf(alert), `docs/monitoring.md#${alert.name.toLowerCase()}`)
    const section = sections.find((each) => each.startsWith(`${alert.name}\n`))
    assert.match(section ?? '', /^```sh\n\S/m, `${alert.name} has no section with a command`)
  }
  const titles = sections.map((section) => section.split('\n')[0] ?? '')
  const known = new Set(alerts.map(({ name }) => name))
  assert.deepEqual(
    titles.filter((title) => /^(Controller|Nso|Galactic|Bridge)[A-Z]\w+$/.test(title) && !known.has(title)),
    [],
  )
})
