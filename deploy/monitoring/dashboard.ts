/** The Grafana dashboard: `npm run generate` writes dashboard.json. */
import { type Panel, rows } from './panels.ts'

const datasource = { type: 'prometheus', uid: '$datasource' } as const
const [columns, height] = [24, 8]

const variable = (name: string, label: string, query: string) => ({
  name,
  label,
  type: 'query',
  datasource,
  definition: query,
  query: { query, refId: 'StandardVariableQuery' },
  refresh: 2,
  sort: 1,
  multi: true,
  includeAll: true,
  // Also where no label of this name is set.
  allValue: '.*',
  current: { selected: true, text: ['All'], value: ['$__all'] },
})

function panelOf(panel: Panel, id: number, at: { x: number; y: number; w: number }) {
  const isStat = panel.shown === 'stat'
  return {
    id,
    type: isStat ? 'stat' : 'timeseries',
    title: panel.title,
    description: panel.description,
    datasource,
    gridPos: { ...at, h: height },
    fieldConfig: { defaults: { unit: panel.unit, ...(isStat ? {} : { min: 0 }) }, overrides: [] },
    options: isStat
      ? { reduceOptions: { calcs: ['lastNotNull'] }, colorMode: 'value', textMode: 'value_and_name' }
      : { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi', sort: 'desc' } },
    targets: panel.targets.map(({ expr, legend }, index) => ({
      refId: String.fromCharCode(65 + index),
      datasource,
      expr,
      legendFormat: legend,
      editorMode: 'code',
      range: true,
    })),
  }
}

/** Three panels side by side under the title of their row. */
function laidOut(): object[] {
  const panels: object[] = []
  let y = 0
  for (const row of rows) {
    panels.push({
      id: panels.length + 1,
      type: 'row',
      title: row.title,
      collapsed: false,
      gridPos: { x: 0, y, w: columns, h: 1 },
      panels: [],
    })
    y += 1
    const w = columns / 3
    for (const [index, panel] of row.panels.entries()) {
      panels.push(panelOf(panel, panels.length + 1, { x: (index % 3) * w, y: y + Math.floor(index / 3) * height, w }))
    }
    y += Math.ceil(row.panels.length / 3) * height
  }
  return panels
}

/** What Grafana imports. */
export function dashboard(): object {
  return {
    uid: 'network-services',
    title: 'Network services',
    description: 'Claims, data planes, writes and controllers of NSO, Galactic and the bridge data plane',
    tags: ['network-services', 'galactic', 'bridge'],
    schemaVersion: 39,
    version: 1,
    editable: false,
    graphTooltip: 1,
    timezone: 'utc',
    refresh: '30s',
    time: { from: 'now-3h', to: 'now' },
    annotations: { list: [] },
    links: [],
    templating: {
      list: [
        { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus', current: {}, regex: '' },
        variable('cluster', 'Cluster', 'label_values(controller_runtime_reconcile_total, cluster)'),
        variable('job', 'Job', 'label_values(controller_runtime_reconcile_total{cluster=~"$cluster"}, job)'),
      ],
    },
    panels: laidOut(),
  }
}
