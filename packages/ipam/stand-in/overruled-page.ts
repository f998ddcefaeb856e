/**
 * Counts where a caller was answered otherwise than the real server's own log says, so that whoever compares the two comes out
 * even. Prometheus text format 0.0.4.
 */
import type { Overruled } from './service.ts'

export const answeredMetric = 'ipam_stand_in_answered_total'
export const saidMetric = 'ipam_stand_in_said_behind_total'

export function createOverruledPage(): { overruled: Overruled; text(): string } {
  const counts = { [answeredMetric]: new Map<string, number>(), [saidMetric]: new Map<string, number>() }
  const add = (name: keyof typeof counts, method: string, code: number) => {
    const labels = `method="${method}",code="${code}"`
    counts[name].set(labels, (counts[name].get(labels) ?? 0) + 1)
  }
  const page = (name: keyof typeof counts, help: string) => {
    const samples = [...counts[name]].map(([labels, count]) => `${name}{${labels}} ${count}`)
    return [`# HELP ${name} ${help}`, `# TYPE ${name} counter`, ...samples]
  }
  return {
    overruled({ method, said, answered }) {
      add(answeredMetric, method, answered)
      if (said !== undefined) add(saidMetric, method, said)
    },
    text() {
      const answered = page(answeredMetric, 'Answers of the stand-in that the API server behind it did not give.')
      const said = page(saidMetric, 'Answers of the API server behind it that the caller was not given.')
      return `${[...answered, ...said].join('\n')}\n`
    },
  }
}
