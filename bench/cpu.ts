/** Processor time of processes, which says what work costs also on a busy machine. Linux only; elsewhere nothing is known. */
import { readFile } from 'node:fs/promises'

const ticksPerSecond = 100

/** Milliseconds of processor time (user and system) that a process has used; NaN where it cannot be read. */
export async function cpuMs(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  // The name in parentheses may hold spaces; the fields after it are counted.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / ticksPerSecond
}

/** Runs `work` and answers how many milliseconds of processor time each process used meanwhile. */
export async function withCpu<T>(
  pids: Readonly<Record<string, number>>,
  work: () => Promise<T>,
): Promise<{ result: T; usedMs: Record<string, number> }> {
  const read = async () =>
    Object.fromEntries(await Promise.all(Object.entries(pids).map(async ([name, pid]) => [name, await cpuMs(pid)])))
  const before = (await read()) as Record<string, number>
  const result = await work()
  const after = (await read()) as Record<string, number>
  return {
    result,
    usedMs: Object.fromEntries(Object.entries(after).map(([name, ms]) => [name, ms - (before[name] ?? Number.NaN)])),
  }
}
