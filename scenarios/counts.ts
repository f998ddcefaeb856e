/** What NSO and the data plane count of themselves, and which of it should not be. */
import { parseMetrics, type Sample, sumOf } from '@nso/cli/report'
import type { Scenario } from './scenario.ts'

/** Sentences about what is counted and should not be, on these metrics pages; `played`: what may be is what these provoke. */
export async function complaintsOf(
  processes: readonly { name: string; metricsUrl: string }[],
  played: readonly Pick<Scenario, 'provokes'>[],
): Promise<string[]> {
  const provoked = new Set(played.flatMap(({ provokes = [] }) => provokes))
  const pages = processes.map(async ({ name, metricsUrl }) => {
    const page = await (await fetch(`${metricsUrl}/metrics`)).text()
    return complaintsAbout(parseMetrics(page), provoked).map((sentence) => `${name}: ${sentence}`)
  })
  return (await Promise.all(pages)).flat()
}

/** One page. One without the counters that it must have proves nothing. */
export function complaintsAbout(samples: readonly Sample[], provoked: ReadonlySet<string>): string[] {
  if (!samples.some(({ name }) => name === 'controller_runtime_reconcile_total')) return ['its metrics page counts nothing']
  const races = samples.filter(({ name, labels, value }) => isRace(name) && value > 0 && !provoked.has(labels.resource ?? ''))
  const counts = {
    'ownership conflicts': sumOf(samples, 'status_ownership_conflicts_total'),
    'reconcile errors': sumOf(samples, 'controller_runtime_reconcile_errors_total'),
  }
  return [
    ...races.map(
      ({ labels, value }) => `${value} lost races: ${labels.controller}, ${labels.verb} ${labels.resource}, ${labels.cause}`,
    ),
    ...Object.entries(counts).flatMap(([what, count]) => (count > 0 ? [`${count} ${what}`] : [])),
  ]
}

const isRace = (name: string) => name.endsWith('_write_race_requeues_total')
