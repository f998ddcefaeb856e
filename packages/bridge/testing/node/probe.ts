/** Whether workloads reach each other: real TCP connections and datagrams between their namespaces. */
import { fileURLToPath } from 'node:url'
import type { Workload } from './node.ts'

const script = fileURLToPath(new URL('./probe.py', import.meta.url))
const port = 7777
const smallPacket = 100

export type Reach = {
  /** The address that the other side sees, or the kernel's word for why not (`ENETUNREACH`, `timeout`, …). */
  tcp: { seenAs: string } | { error: string }
  udp: { echoed: boolean } | { error: string }
}

export type Question = {
  /** Without a prefix length. */
  address: string
  /** Bytes of the IP packet, headers included, of the datagram, which is not fragmented in either direction. */
  packet?: number
  withinMs?: number
}

/** Answers whoever asks, until the workload ends. */
export async function answerProbes(workload: Workload): Promise<void> {
  await workload.keep('python3', [script, 'serve', String(port)])
}

export async function ask(workload: Workload, { address, packet = smallPacket, withinMs = 5000 }: Question): Promise<Reach> {
  return JSON.parse(await workload.must('python3', [script, 'ask', address, ...[port, packet, withinMs].map(String)])) as Reach
}
