/** The metrics that NSO and the data planes register: as they are made, before anything runs. */
import { createOperator } from '@nso/operator'
import { createGalactic } from 'galactic'
import { createBridge } from 'kube-bridge'
import { silentLogger, type Transport } from 'kube-control-loop'

export const components = ['nso', 'galactic', 'bridge'] as const
export type Component = (typeof components)[number]
export type Registered = { name: string; type: string; labels: readonly string[]; component: Component }

const never: Transport = {
  send: () => Promise.reject(new Error('nothing is to be asked')),
  stream: () => Promise.reject(new Error('nothing is to be asked')),
  close: () => Promise.resolve(),
}

type Metric = { name: string; type: string; labelNames?: readonly string[] }

export function registered(): Registered[] {
  const nso = createOperator({ transport: never, identity: 'test', log: silentLogger })
  const galactic = createGalactic({ transport: never, log: silentLogger })
  return (
    [
      ['nso', nso.manager],
      ['galactic', galactic.manager],
      ['bridge', createBridge({ transport: never, log: silentLogger }).manager],
    ] as const
  ).flatMap(([component, { metrics }]) =>
    // prom-client's type of a metric does not tell what its object has.
    (metrics.registry.getMetricsAsArray() as unknown as Metric[]).map(({ name, type, labelNames = [] }) => ({
      name,
      type,
      labels: labelNames,
      component,
    })),
  )
}

/** Metrics of the API server that rules and dashboard read, with their labels; a test scrapes them. */
export const ofApiServer: readonly Omit<Registered, 'component'>[] = [
  {
    name: 'apiserver_validating_admission_policy_check_total',
    type: 'counter',
    labels: ['policy', 'policy_binding', 'enforcement_action', 'error_type'],
  },
]

/** Labels that Prometheus adds to whatever it scrapes. */
export const ofScraping: readonly string[] = ['cluster', 'namespace', 'job', 'instance']

const words = new Set('sum max min count rate increase histogram_quantile absent by on and or unless offset vector'.split(' '))

export type Used = { metric: string; labels: readonly string[] }

/** The metrics of an expression, each with the labels that it is selected and grouped by. Every name that is no function is one. */
export function usedIn(expr: string): Used[] {
  const grouping = [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, labels = '']) => labels.split(/,\s*/).filter(Boolean))
  const bare = expr
    .replaceAll(/\bby \([^)]*\)/g, '')
    .replaceAll(/"[^"]*"/g, '""')
    .replaceAll(/\[[^\]]*\]/g, '')
  return [...bare.matchAll(/\b([A-Za-z_]\w*)(\{[^}]*\})?/g)]
    .filter(([, name = '']) => !words.has(name))
    .map(([, metric = '', matchers = '']) => ({
      metric,
      labels: [...matchers.matchAll(/(\w+)\s*[=!]/g)].map(([, label = '']) => label).concat(grouping),
    }))
}

/** Of a histogram's series, the histogram. */
export const metricOf = (series: string): string => series.replace(/_(bucket|sum|count)$/, '')
