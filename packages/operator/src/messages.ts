/** Texts of conditions and events: what is the case, then what to do about it or who is waited for. The same world, the same text. */

/** Both parts together fit the note of an event (1024 bytes), whose end would be cut: the end says what to do. */
const longest = { what: 640, next: 370 } as const

/** Shared by the entries that are told. */
const longestList = 360

/** Entries of a list that are told; a list may have as many as there are objects. */
const told = 3

/** `what` names the object concerned; `next` begins with a verb. Neither ends with a full stop. */
export function advice(what: string, next: string): string {
  return `${cut(what, longest.what)}: ${cut(next, longest.next)}.`
}

/** The first few of a list, in the order that the caller gives it, and how many others there are. */
export function few(entries: readonly string[]): string {
  const shown = entries.slice(0, told)
  const others = entries.length > told ? ` and ${entries.length - told} more` : ''
  return `${shown.map((entry) => cut(entry, Math.floor(longestList / shown.length))).join(', ')}${others}`
}

/** At most so many bytes of UTF-8, never within a character. */
function cut(text: string, bytes: number): string {
  const buffer = Buffer.from(text)
  if (buffer.length <= bytes) return text
  const kept = buffer.subarray(0, bytes - Buffer.byteLength('…')).toString()
  return `${kept.replace(/\uFFFD+$/, '')}…`
}
