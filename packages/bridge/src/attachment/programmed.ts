/**
 * What Multus reports on an attachment, read from the Pods that ask for its definition or have it: pure, and in both directions.
 * Anyone who may write a Pod may have written its annotations, so they prove nothing more than that.
 */
import { keyOf } from 'kube-control-loop'
import { type AttachedNetwork, networkStatusOf, type Pod, printable } from 'kube-multus'
import { canonicalAddress, parseCidr } from './cidr.ts'

export type Programmed =
  | { readonly status: 'True'; readonly reason: 'Attached'; readonly message: string }
  | { readonly status: 'False'; readonly reason: 'NotAttached' | 'AddressesDiffer'; readonly message: string }
  | { readonly status: 'Unknown'; readonly reason: 'ReportUnreadable' | 'PodsForbidden'; readonly message: string }

type Attached = { readonly pod: string; readonly entry: AttachedNetwork }

/**
 * `definition` as `namespace/name`; `addresses` as asked for, with prefix length: none means that the workload addresses itself,
 * and whatever it has is right. `pods` have not ended.
 */
export function programmedOf(definition: string, addresses: readonly string[], pods: readonly Pod[]): Programmed {
  const sorted = [...pods].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
  const reports = sorted.map((pod) => ({ pod: keyOf(pod), status: networkStatusOf(pod) }))
  const attached = reports.flatMap(({ pod, status }): Attached[] =>
    status.is === 'read' ? status.attached.filter(({ name }) => name === definition).map((entry) => ({ pod, entry })) : [],
  )
  const wanted = addresses.flatMap((address) => parseCidr(address)?.address ?? []).sort()
  const fitting = attached.filter(({ entry }) => wanted.length === 0 || same(addressesOf(entry), wanted))
  const [first] = fitting
  if (first) return { status: 'True', reason: 'Attached', message: attachedTo(first, fitting) }
  const [other] = attached
  if (other)
    return {
      status: 'False',
      reason: 'AddressesDiffer',
      message: `Pod ${other.pod} has it with ${listed(addressesOf(other.entry))} instead of ${listed(wanted)}`,
    }
  const unread = reports.find(({ status }) => status.is === 'malformed')
  if (unread?.status.is === 'malformed')
    return {
      status: 'Unknown',
      reason: 'ReportUnreadable',
      message: `the network-status of Pod ${unread.pod} cannot be read: ${unread.status.why}`,
    }
  // The same before and after a Pod asks for it: Multus speaks soon after, and that is worth a write.
  return { status: 'False', reason: 'NotAttached', message: 'Multus reports it on no Pod' }
}

/** In one form and order; of what is no address, what can be printed. */
const addressesOf = ({ ips }: AttachedNetwork) =>
  ips.map((ip) => canonicalAddress(ip.split('/')[0] ?? '') ?? printable(ip, 45)).sort()

const same = (some: readonly string[], others: readonly string[]) =>
  some.length === others.length && some.every((address, index) => address === others[index])

const listed = (addresses: readonly string[]) => (addresses.length === 0 ? 'no address' : addresses.slice(0, 16).join(', '))

function attachedTo({ pod, entry }: Attached, all: readonly Attached[]): string {
  const device = entry.interface === undefined ? '' : ` as ${printable(entry.interface, 15)}`
  const others = new Set(all.map((each) => each.pod)).size - 1
  return `Pod ${pod} has it${device}${others > 0 ? `, and ${others} more with the same addresses` : ''}`
}
