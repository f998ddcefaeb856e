/** A run of the suite: cases one after the other, each with an end of its own. */
import { type Clock, createAccessSource, createClient, createHttpTransport, systemClock, type Transport } from 'kube-control-loop'
import { type Bench, type Limits, ordinaryLimits, setUp } from './bench.ts'
import { cases } from './cases/index.ts'
import { type Choice, runCases } from './engine.ts'
import { holdingFinalizer } from './leftovers.ts'
import type { PlaneUnderTest } from './plane-under-test.ts'
import { requireMeans } from './preflight.ts'
import { capabilitiesOf } from './requester.ts'
import type { Features, Results } from './results.ts'
import { contractVersion } from './rules.ts'

export type ConformanceOptions = Partial<Limits> &
  Choice & {
    /** Path of the administrator’s kubeconfig; absent: as kubectl finds it. */
    kubeconfig?: string
    /** The wire, instead of one made from a kubeconfig. */
    transport?: Transport
    /** Leaves the namespaces of cases that are over, for a cluster that is thrown away. */
    keepNamespaces?: boolean
    /** Chooses the moments at which the process is killed; the same gives the same. */
    seed?: number
    clock?: Clock
    signal?: AbortSignal
  }

/**
 * Tries a data plane that runs, and resolves with what was found, whatever that is. Makes namespaces named `conformance-…`, one for each case,
 * and removes them, also when it is broken off. Rejects with `NothingTried` when what it needs itself is missing, when the API server
 * cannot be asked, and with the signal’s reason when it is aborted.
 */
export async function runConformance(plane: PlaneUnderTest, options: ConformanceOptions = {}): Promise<Results> {
  const { clock = systemClock, signal = new AbortController().signal, kubeconfig, seed = 1 } = options
  const transport =
    options.transport ??
    createHttpTransport({
      access: createAccessSource({ clock, ...(kubeconfig === undefined ? {} : { kubeconfig }) }),
      clock,
      userAgent: 'nso-conformance/0.1.0',
    })
  try {
    const client = createClient(transport, { clock, jitter: Math.random })
    const startedAt = clock.now()
    const bench = await setUp(
      { plane, client, clock, seed, limits: limitsOf(options), keepsNamespaces: options.keepNamespaces ?? false },
      signal,
    )
    await requireMeans(bench, signal)
    const { gitVersion = 'unknown' } = (await client.raw({ method: 'GET', path: '/version' }, signal)) as { gitVersion?: string }
    const results = await runCases(cases, bench, options, signal)
    return {
      ...{ plane: plane.name, planeVersion: plane.version, contract: contractVersion, kubernetes: gitVersion, startedAt },
      features: featuresOf(bench),
      results,
    }
  } finally {
    if (!options.transport) await transport.close()
  }
}

function limitsOf(options: ConformanceOptions): Limits {
  const given = (Object.keys(ordinaryLimits) as (keyof Limits)[]).flatMap((name) => {
    const value = options[name]
    return value === undefined ? [] : [[name, value] as const]
  })
  return { ...ordinaryLimits, ...Object.fromEntries(given) }
}

const notOfThePlane: readonly string[] = ['foregroundDeletion', 'orphan', holdingFinalizer]

function featuresOf({ dataPlane, view, seen }: Bench): Features {
  const { modes, families } = capabilitiesOf(dataPlane)
  return {
    attachmentModes: modes,
    addressFamilies: families,
    networkObject: view.networkKind !== undefined,
    programmed: view.conditions.programmed ? 'Reported' : 'NotReported',
    finalizers: [...seen.finalizers].filter((name) => !notOfThePlane.includes(name)).sort(),
  }
}
