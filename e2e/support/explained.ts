/** What `nso explain` says of an object: live and from a dump. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { answerExplain } from '@nso/cli/explain'
import type { World } from './explained-world.ts'
import { assertGolden, normalised } from './golden.ts'

/** Live and from a dump: the same, and as in the golden file. */
export async function explained(world: World, golden: string, object: string, namespace: string): Promise<string> {
  const flags = { namespace, output: 'text' } as const
  const live = await answerExplain([object], { ...flags, kubeconfig: world.plane.kubeconfigPath })
  await using folder = await mkdtempDisposable(path.join(tmpdir(), 'nso-dump-'))
  const filename = path.join(folder.path, 'dump.yaml')
  writeFileSync(filename, await world.dump())
  const offline = await answerExplain([object], { ...flags, filename })
  assertGolden(golden, live)
  // A dump tells who ran when it was made, not that they run.
  const asLive = offline.replace(/ ran, as far as the dump tells: (\S+) led at \S+$/gm, ' runs: $1 leads')
  assert.equal(normalised(asLive), normalised(live), 'the dump is explained otherwise')
  return live
}
