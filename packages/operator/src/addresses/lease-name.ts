/** The name of a lease is the lock on its address: one network context and one unit give exactly one name. */
import { createHash } from 'node:crypto'
import { type Block, formatAddress, readBlock } from './cidr.ts'

const longestName = 253
const keptOfLongName = 240
const subdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/

/** `<context>.10-0-0-5` or `<context>.` and 32 hex digits; a name the API server would refuse is cut and gets a digest instead. */
export function leaseName(contextName: string, unit: Block): string {
  const address = dnsForm(unit)
  const name = `${contextName}.${address}`
  return name.length <= longestName && subdomain.test(name) ? name : shortened(contextName, address)
}

/** The same for an address as interfaces list it; undefined when the text is none. */
export function addressLeaseName(contextName: string, address: string): string | undefined {
  const unit = readBlock(address)
  return unit && leaseName(contextName, unit)
}

function dnsForm(unit: Block): string {
  return unit.family === 'IPv4'
    ? formatAddress('IPv4', unit.start).replaceAll('.', '-')
    : unit.start.toString(16).padStart(32, '0')
}

function shortened(contextName: string, address: string): string {
  const digest = createHash('sha256').update(`${contextName}\0${address}`).digest('hex').slice(0, 12)
  return `${contextName.slice(0, keptOfLongName).replace(/[-.]+$/, '')}-${digest}`
}
