/** Who writes what on kinds of data planes that have no table here: it follows from their DataPlanes and the contract. */
import { DataPlane, managers } from '@nso/api'
import { ApiError, type Client, type Kind } from 'kube-control-loop'
import { collect } from '../pages.ts'
import { servedKind } from '../served-kind.ts'
import { groupOf, textAt } from './stored.ts'
import { type Row, rowOf } from './table.ts'

type Named = { plane: string; part: 'attachment' | 'network'; apiVersion: string; kind: string; reports: string[] }

/** The kinds of the templates, less those that have a table. */
export function unlistedKinds(planes: readonly DataPlane[]): Named[] {
  const named = planes.flatMap(({ metadata, spec }) =>
    (['attachment', 'network'] as const).flatMap((part): Named[] => {
      const [apiVersion, kind] = [textAt(spec, part, 'apiVersion'), textAt(spec, part, 'kind')]
      if (apiVersion === undefined || kind === undefined || rowOf({ apiVersion, kind })) return []
      const reports =
        part === 'network' ? [] : ['prepared', 'programmed'].flatMap((of) => textAt(spec, 'report', of, 'condition') ?? [])
      return [{ plane: metadata.name, part, apiVersion, kind, reports: [...new Set(reports)] }]
    }),
  )
  const keyOf = ({ apiVersion, kind }: Named) => `${groupOf(apiVersion)}/${kind}`
  return [...new Map(named.map((each) => [keyOf(each), each])).values()]
}

/** Spec and owner are NSO's; the report is the data plane's, under whatever manager it uses. */
export function rowOfPlane({ plane, part, reports }: Named, kind: Kind): Row {
  const when = part === 'attachment' ? 'when its rendering changes' : 'at creation'
  const asked = { writer: managers.dataPlane, identity: 'nso' }
  return {
    kind,
    status: [
      {
        ...{ writer: `data plane of DataPlane ${plane}`, identity: 'data plane', anyManager: true },
        ...{ owns: reports.map((type) => `conditions/${type}`), when: 'as the contract for data planes says' },
      },
    ],
    metadata: [
      { path: 'spec', ...asked, when },
      { path: 'metadata.ownerReferences', ...asked, when: 'at creation' },
    ],
  }
}

/** Rows of the kinds that this cluster serves. Where DataPlanes cannot be read there are none: that is told by their own row. */
export async function rowsOfPlanes(client: Client, signal: AbortSignal): Promise<Row[]> {
  const planes = await orNone(() => collect({ client, kind: DataPlane }, (object) => [object as DataPlane], signal))
  const found = await Promise.all(
    unlistedKinds(planes).map(async (named) => {
      const { apiVersion, kind } = named
      const [group = '', version = ''] = apiVersion.split('/')
      const [list] = await orNone(async () => [await client.raw({ method: 'GET', path: `/apis/${apiVersion}` }, signal)])
      const served = servedKind(list, group, version, kind)
      return served ? [rowOfPlane(named, served)] : []
    }),
  )
  return found.flat()
}

/** What the API server refuses to tell is told where the same is asked for its own sake. */
async function orNone<T>(ask: () => Promise<readonly T[]>): Promise<readonly T[]> {
  try {
    return await ask()
  } catch (error) {
    if (error instanceof ApiError) return []
    throw error
  }
}
