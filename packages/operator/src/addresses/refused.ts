/** What it means that the API server takes a lease in no form: a quota, a policy or a webhook is against it. Pure. */
import { refusalOf } from '../dataplane/refusal.ts'
import { advice } from '../messages.ts'

/** In the server's words; undefined where it is something else, or where one of several errors is: that stays a fault. */
export function refusedByServer(error: unknown): string | undefined {
  const errors: readonly unknown[] = error instanceof AggregateError ? error.errors : [error]
  const reasons = errors.map(refusalOf)
  const [first] = reasons
  if (first === undefined || reasons.includes(undefined)) return undefined
  return advice(`The API server refuses an AddressLease (${first})`, 'allow it; it is tried again by itself')
}
