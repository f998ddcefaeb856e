/** What can be said on the command line of `npm run scenarios`. */
import { parseArgs } from 'node:util'
import { scenarios } from './index.ts'
import type { AddressMode, Scenario } from './scenario.ts'

const both = ['builtin', 'ipam'] as const satisfies readonly AddressMode[]

export type Asked = { chosen: readonly Scenario[]; modes: readonly AddressMode[]; kubeconfig: string | undefined; list: boolean }

/** Its message says what there is. */
export class BadArguments extends Error {
  override name = 'BadArguments'
}

/** Throws `BadArguments`. */
export function readArguments(args: readonly string[]): Asked {
  const { values, positionals } = parsed(args)
  const { addresses, kubeconfig, list } = values
  const modes = addresses === 'both' ? both : both.filter((mode) => mode === addresses)
  if (modes.length === 0) throw new BadArguments(`--addresses ${addresses}: there are ${both.join(', ')} and both`)
  const unknown = positionals.find((name) => !scenarios.some((scenario) => scenario.name === name))
  if (unknown) throw new BadArguments(`${unknown}: there are ${scenarios.map(({ name }) => name).join(', ')}`)
  const named = scenarios.filter(({ name }) => positionals.length === 0 || positionals.includes(name))
  const chosen = named.filter((scenario) => scenario.modes.some((mode) => modes.includes(mode)))
  if (chosen.length === 0) throw new BadArguments(`none of these is played with --addresses ${addresses}`)
  return { chosen, modes, kubeconfig, list }
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        addresses: { type: 'string', default: 'both' },
        kubeconfig: { type: 'string' },
        list: { type: 'boolean', default: false },
      },
      allowPositionals: true,
    })
  } catch (cause) {
    throw new BadArguments(cause instanceof Error ? cause.message : String(cause), { cause })
  }
}
