/** Splits text into the JSON values that stand in it one after the other, as `kubectl get … -o json` leaves them in one file. */

/** The text of each value; what is between them, or cut off at the end, is a value of its own for the parser to refuse. */
export function jsonValues(text: string): string[] {
  const values: string[] = []
  let [depth, begin, inText] = [0, 0, false]
  for (const { 0: mark, index } of text.matchAll(/\\.|["{}[\]]/gs)) {
    if (mark === '"') inText = !inText
    else if (!inText && (mark === '{' || mark === '[')) depth++
    else if (!inText && (mark === '}' || mark === ']') && --depth === 0) {
      values.push(text.slice(begin, index + 1))
      begin = index + 1
    }
  }
  const rest = text.slice(begin)
  return rest.trim() === '' ? values : [...values, rest]
}
