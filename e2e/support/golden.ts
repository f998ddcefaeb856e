/** Golden files: what a command says, with everything that differs from run to run named in order of its appearance. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import process from 'node:process'

const folder = path.resolve(import.meta.dirname, '..', 'golden')
/** `UPDATE_GOLDEN=1` writes the files instead of comparing with them; the difference is for review. */
const isUpdating = process.env.UPDATE_GOLDEN === '1'

const uid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g
const ages = /\b\d+ (s|min|h|d)\b/g
const times = /\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z/g

/** Ages, times, uids, identifiers of Galactic and IPv6 prefixes, which are chosen at random. */
export function normalised(text: string): string {
  const seen = new Map<string, string>()
  const named = (what: string) => (value: string) => {
    const known = seen.get(value) ?? `<${what}-${[...seen.values()].filter((name) => name.startsWith(`<${what}-`)).length + 1}>`
    seen.set(value, known)
    return known
  }
  return (
    text
      .replace(uid, named('uid'))
      // Where a long value is cut depends on how long the addresses in it are.
      .replace(/ = [^\n]*?…/g, ' = <long>')
      .replace(times, '<time>')
      .replace(ages, '<age>')
      // What is Unknown may have been so from the beginning, or be so again: that depends on which reports NSO came to see.
      .replace(/( Unknown .*\n\W*)for <age> · /g, '$1')
      .replace(/(runs: )\S+( leads)/g, '$1<holder>$2')
      .replace(/fd2[0-9a-f](:[0-9a-f]{0,4}){2,}/g, named('ipv6'))
      .replace(/\b[0-9a-f]{32}\b/g, named('lease'))
      .replace(/\bkb-[0-9a-f]{12}\b/g, named('bridge'))
      .replace(/(BGPAdvertisement galactic-system\/)[0-9a-f]+-[0-9a-f]+/g, (_, kept: string) => `${kept}<identity>`)
      .replace(/\b(vpc|vpcAttachment) = \S+/g, (_, field: string) => `${field} = <identifier>`)
      .replace(/\b(hostInterface|vrfInterface) = \S+/g, (_, field: string) => `${field} = <device>`)
  )
}

export function assertGolden(name: string, text: string): void {
  const file = path.join(folder, `${name}.txt`)
  const now = `${normalised(text)}\n`
  if (isUpdating) writeFileSync(file, now)
  assert.equal(now, readFileSync(file, 'utf8'), `${file} differs; UPDATE_GOLDEN=1 writes it anew`)
}
