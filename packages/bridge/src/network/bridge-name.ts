/** The name of a network's bridge device: pure. */
import { createHash } from 'node:crypto'

/** Hexadecimal digits for a text, always the same ones. */
export type Digest = (text: string) => string

export const sha256: Digest = (text) => createHash('sha256').update(text).digest('hex')

/** Not `br-`, which other software gives to bridges followed by as many digits. */
const prefix = 'kb-'
/** Linux: a device name has at most 15 bytes. */
const digits = 15 - prefix.length

/**
 * A name made from the uid, so that a network made again under a name never meets the bridge of the last one. Another one where it
 * is taken: 48 bits make that a matter for the cautious.
 */
export function bridgeNameFor(uid: string, digest: Digest, isTaken: (name: string) => boolean): string {
  for (let attempt = 0; ; attempt++) {
    const name = `${prefix}${digest(attempt === 0 ? uid : `${uid}.${attempt}`).slice(0, digits)}`
    if (!isTaken(name)) return name
  }
}
