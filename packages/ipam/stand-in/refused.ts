/** A claim that is not served, with the causes that its Status will name. */
import type { Refusal } from '../src/index.ts'

export class Refused extends Error {
  override readonly name = 'Refused'
  readonly code = 'REFUSED'
  readonly refusals: readonly Refusal[]
  constructor(...refusals: Refusal[]) {
    super(refusals.map(({ message }) => message).join('; '))
    this.refusals = refusals
  }
}
