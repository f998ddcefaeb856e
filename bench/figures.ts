/** A figure to reach: what was measured, its bound, how. Pure. */

export type Figure = {
  /** Short, for `--only` and the last line. */
  readonly name: string
  /** What is counted or compared, for people. */
  readonly says: string
  readonly value: number
  /** The largest value that reaches the figure. */
  readonly bound: number
  /** How it was measured. */
  readonly how: string
}

/** NaN was not measured, and is never reached. */
export const isReached = ({ value, bound }: Figure): boolean => value <= bound

const rounded = (value: number): string => (Number.isInteger(value) ? String(value) : value.toFixed(2))

export function renderFigure(figure: Figure): string {
  const { name, says, value, bound, how } = figure
  return `${isReached(figure) ? 'reached' : 'MISSED '}  ${name}: ${rounded(value)} (at most ${bound})  ${says}\n         ${how}`
}

/** The last line of a run. */
export function lastLine(figures: readonly Figure[]): string {
  const missed = figures.filter((figure) => !isReached(figure))
  if (figures.length === 0) return 'no figure was measured'
  if (missed.length === 0) return `all ${figures.length} figures reached`
  return `missed: ${missed.map(({ name, value, bound }) => `${name} ${rounded(value)} > ${bound}`).join(', ')}`
}

/** 0 when everything was measured and reached. */
export const exitStatus = (figures: readonly Figure[]): number => (figures.length > 0 && figures.every(isReached) ? 0 : 1)
