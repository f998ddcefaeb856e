/** Whether an object can bear the name of the interface that a claim asks for: the claim's schema bounds its length only. */
import type { NetworkInterfaceClaim } from '@nso/api'
import { interfaceNameOf } from '../interface/holder.ts'
import { advice } from '../messages.ts'
import type { Rejection } from './wants.ts'

/** RFC 1123 subdomain, as the API server asks of names. */
const subdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/

/** Why no interface can be named as the claim asks; undefined: one can. */
export function unnameable(claim: NetworkInterfaceClaim): Rejection | undefined {
  const name = interfaceNameOf(claim)
  if (subdomain.test(name)) return undefined
  const next = 'make a new claim whose networkInterfaceName has lower-case letters, digits, - and . only'
  return { reason: 'InterfaceRefused', message: advice(`No network interface can be named ${name}`, next) }
}
