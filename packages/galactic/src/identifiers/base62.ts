/**
 * Base62 as the node side of Galactic reads and writes it: digits, then small letters, then capitals; the most significant
 * digit first, leading zeros dropped. Kernel names hold identifiers in this form, since it is short enough for them.
 */

const alphabet = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'

/** Encodes a non-negative integer; 0 is `0`. Throws RangeError on a negative one. */
export function toBase62(value: bigint): string {
  if (value < 0n) throw new RangeError(`base62 has no negative numbers: ${value}`)
  let text = ''
  for (let rest = value; rest > 0n; rest /= 62n) text = alphabet.charAt(Number(rest % 62n)) + text
  return text || '0'
}

/** Decodes; undefined where the text is empty or holds a character outside the alphabet. Leading zeros change nothing. */
export function fromBase62(text: string): bigint | undefined {
  if (text === '') return undefined
  let value = 0n
  for (const character of text) {
    const digit = alphabet.indexOf(character)
    if (digit < 0) return undefined
    value = value * 62n + BigInt(digit)
  }
  return value
}

/** Lower-case hexadecimal of a base62 text, without leading zeros: the form that object names can hold. */
export function base62ToHex(text: string): string | undefined {
  return fromBase62(text)?.toString(16)
}
