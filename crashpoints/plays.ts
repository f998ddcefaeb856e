/** The scenarios that points are tried on: those of the suite, and the coming and going of a network by itself. */
import { scenarios } from '../scenarios/index.ts'
import type { AddressMode } from '../scenarios/scenario.ts'
import type { Play } from './point.ts'

/** In the others the writes for their networks are not counted, which are the same in each. */
const network: Play = {
  name: 'network',
  about: 'A network comes, with its presence here and its ranges, and goes.',
  modes: ['builtin', 'ipam'],
  whole: true,
  async run() {},
}

export function playsFor(mode: AddressMode): readonly Play[] {
  return [network, ...scenarios].filter(({ modes }) => modes.includes(mode))
}
