/** The name of a lease is the lock on its address: one network and one unit give exactly one name, in whichever of
 * its contexts. */
import { createHash } from 'node:crypto'
import { type Block, formatAddress, readBlock } from './cidr.ts'

const longestName = 253
const keptOfLongName = 240
const subdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/

/** `<network>.10-0-0-5` or `<network>.` and 32 hex digits; a name the API server would refuse is cut and gets a digest instead. */
export function leaseName(networkName: string, unit: Block): string {
  const address = dnsForm(unit)
  const name = `${networkName}.${address}`
  return name.length <= longestName && subdomain.test(name) ? name : shortened(networkName, address)
}

/** The same for an address as interfaces list it; undefined when the text is none. */
export function addressLeaseName(networkName: string, address: string): string | undefined {
  const unit = readBlock(address)
  return unit && leaseName(networkName, unit)
}

function dnsForm(unit: Block): string {
  return unit.family === 'IPv4'
    ? formatAddress('IPv4', unit.start).replaceAll('.', '-')
    : unit.start.toString(16).padStart(32, '0')
}

function shortened(networkName: string, address: string): string {
  const digest = createHash('sha256').update(`${networkName}\0${address}`).digest('hex').slice(0, 12)
  return `${networkName.slice(0, keptOfLongName).replace(/[-.]+$/, '')}-${digest}`
}
