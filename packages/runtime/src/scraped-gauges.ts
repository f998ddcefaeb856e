/**
 * Gauges that are computed when the page is read, from what is in memory then: nothing is counted in between, nothing is written,
 * and what is not known has no series instead of a zero.
 */
import { Gauge, type Registry } from 'prom-client'

export type GaugeDefinition = { help: string; labelNames: readonly string[] }

/** One series. The labels are those that its gauge is defined with. */
export type Series<Name extends string> = { gauge: Name; labels: Readonly<Record<string, string>>; value: number }

/** `look` is called once for each page, whatever the number of gauges; undefined: nothing is known now. */
export function registerScrapedGauges<Name extends string>(
  registry: Registry,
  gauges: Readonly<Record<Name, GaugeDefinition>>,
  look: () => readonly Series<Name>[] | undefined,
): void {
  let seen: { series: readonly Series<Name>[] } | undefined
  const once = (): readonly Series<Name>[] => {
    if (!seen) {
      seen = { series: look() ?? [] }
      // The registry asks all gauges of a page within one turn.
      queueMicrotask(() => {
        seen = undefined
      })
    }
    return seen.series
  }
  for (const [name, { help, labelNames }] of Object.entries<GaugeDefinition>(gauges)) {
    new Gauge({
      name,
      help,
      labelNames,
      registers: [registry],
      collect() {
        this.reset()
        for (const { gauge, labels, value } of once()) if (gauge === name) this.set(labels, value)
      },
    })
  }
}
