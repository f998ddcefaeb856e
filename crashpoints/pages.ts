/** What a metrics page tells of things that must not happen, whatever is killed when. */

const complaints: readonly RegExp[] = [
  /^controller_runtime_reconcile_errors_total\b/,
  /^\w+_status_ownership_conflicts_total\b/,
  /^\w+_pass_too_long_total\b/,
]

/** Series with their values, those that are 0 left out. */
export function complaintsIn(page: string): Map<string, number> {
  const lines = page.split('\n').filter((line) => complaints.some((pattern) => pattern.test(line)))
  return new Map(
    lines
      .map((line): [string, number] => {
        const at = line.lastIndexOf(' ')
        return [line.slice(0, at), Number(line.slice(at + 1))]
      })
      .filter(([, value]) => value !== 0),
  )
}
