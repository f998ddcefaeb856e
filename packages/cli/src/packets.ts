/** What real packets have shown, for people. Pure. */
import type { Proof, Trial } from './planes/data-plane.ts'

/** A line for each workload, and one for each pair and family that was tried. */
export function packetLines({ workloads, trials }: Proof): string[] {
  return [
    ...workloads.map(({ name, network, device, mtu, addresses }) => {
      return `  ${name} (network ${network}): ${device}, MTU ${mtu}, ${addresses.join(', ')}`
    }),
    ...trials.map(trialLine),
  ]
}

/** Sentences about what is not as it should be; empty when all is. */
export function failuresIn({ workloads, trials }: Proof): string[] {
  return [
    ...workloads
      .filter(({ asClaimed }) => !asClaimed)
      .map(({ name, device, mtu, addresses }) => {
        return `${name}: ${device} has MTU ${mtu} and ${addresses.join(', ') || 'no address'}, which is not what the claim says`
      }),
    ...trials.filter(({ asWanted }) => !asWanted).map((trial) => trialLine(trial).trim()),
  ]
}

function trialLine({ from, to, family, address, wanted, packetBytes, tcp, udp, asWanted }: Trial): string {
  const found = `TCP ${tcp}; UDP, ${packetBytes} bytes in one packet: ${udp}`
  const meaning = wanted ? 'one network' : 'two networks, a route added by hand: nothing is to come through'
  return `  ${from} → ${to} ${address} (${family}; ${meaning}): ${found}${asWanted ? '' : '  ← WRONG'}`
}
