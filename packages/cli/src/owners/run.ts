/** `nso owners`: the tables, or a check of a live cluster against them. */
import { openCluster } from '../cluster.ts'
import { kindNamed } from '../kind-names.ts'
import { type Format, formatted } from '../output.ts'
import { type Paint, plain } from '../tree.ts'
import { checkOwners, isRight } from './check.ts'
import { rowsOfPlanes } from './planes.ts'
import { ownerLines, renderChecked, renderedOwnersNote, renderOwners } from './show.ts'
import { type Row, rows } from './table.ts'

export type OwnersFlags = { check: boolean; kubeconfig?: string; output: Format }

const patienceMs = 300_000

/** What is printed, and the exit status: 1 when anything is not as documented, or could not be looked at. */
export async function answerOwners(
  kind: string | undefined,
  { check, kubeconfig, output }: OwnersFlags,
  paint: Paint = plain,
): Promise<{ text: string; status: number }> {
  if (!check) {
    const lines = ownerLines(kind === undefined ? rows : rowsNamed(rows, kind))
    const text = formatted(output, lines, (shown) => [...renderOwners(shown, paint), '', renderedOwnersNote].join('\n'))
    return { text, status: 0 }
  }
  const cluster = await openCluster({ kubeconfig })
  try {
    const signal = AbortSignal.timeout(patienceMs)
    const all = [...rows, ...(await rowsOfPlanes(cluster.client, signal))]
    const checked = await checkOwners(cluster.client, kind === undefined ? all : rowsNamed(all, kind), signal)
    const text = formatted(output, checked, (shown) => renderChecked(shown, paint).join('\n'))
    return { text, status: isRight(checked) ? 0 : 1 }
  } finally {
    await cluster.close()
  }
}

function rowsNamed(among: readonly Row[], word: string): Row[] {
  const named = kindNamed(
    among.map(({ kind }) => kind),
    word,
  )
  return among.filter(({ kind }) => kind === named)
}
