/** Texts of a run within formats whose lines mean something. Pure. */

/** One line, whatever is in it, of which a terminal obeys nothing: messages are anybody’s. */
export const oneLine = (text: string): string =>
  text
    .replace(/\s+/g, ' ')
    .replace(/[\p{Cc}\p{Bidi_Control}]+/gu, '\uFFFD')
    .trim()

/** What is beside the outcome to be said of a result. */
export function remarkOf(result: { outcome: string; reason?: string; measured?: Readonly<Record<string, number>> }): string {
  if (result.reason !== undefined) return oneLine(result.reason)
  return Object.entries(result.measured ?? {})
    .map(([name, value]) => `${name} ${value}`)
    .join(', ')
}
