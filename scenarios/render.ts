/** Scenarios and how they went, as text. */
import type { Played } from './play.ts'
import type { Scenario } from './scenario.ts'

const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`

export function renderList(scenarios: readonly Scenario[]): string {
  const width = Math.max(...scenarios.map(({ name }) => name.length))
  return scenarios.map(({ name, modes, about }) => `${name.padEnd(width)}  ${modes.join(', ').padEnd(13)}  ${about}`).join('\n')
}

/** Its steps with the time at which each began, and what went wrong. */
export function renderPlayed({ scenario, mode, ms, steps, error }: Played): string {
  const result = error === undefined ? 'holds' : 'DOES NOT HOLD'
  return [
    `\n${scenario.name} (${mode}) ${result}, ${seconds(ms)}`,
    ...steps.map((step) => `  ${seconds(step.ms).padStart(7)}  ${step.sentence}`),
    ...(error === undefined ? [] : [indented(error instanceof Error ? (error.stack ?? error.message) : String(error))]),
  ].join('\n')
}

const indented = (text: string) => text.replaceAll(/^/gm, '    ')

export function renderTable(played: readonly Played[]): string {
  const width = Math.max(...played.map(({ scenario }) => scenario.name.length))
  const rows = played.map(({ scenario, mode, ms, error }) =>
    [
      scenario.name.padEnd(width),
      mode.padEnd(7),
      (error === undefined ? 'holds' : 'FAILS').padEnd(5),
      seconds(ms).padStart(7),
    ].join('  '),
  )
  const held = played.filter(({ error }) => error === undefined).length
  return [...rows, `${held} of ${played.length} hold`].join('\n')
}
