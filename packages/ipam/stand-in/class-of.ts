/** Which class serves a claim, and whether the claim says what that class needs: pure. */
import { defaultClassAnnotation, type IPClaim, type IPClass, type Refusal } from '../src/index.ts'
import { Refused } from './refused.ts'

type Spec = IPClaim['spec']

const isDefault = ({ metadata }: IPClass): boolean => metadata.annotations?.[defaultClassAnnotation] === 'true'

/** The class that is named, or the default one of the family. Throws `Refused`. */
export function classFor({ className, ipFamily }: Spec, classes: readonly IPClass[]): IPClass {
  if (className !== undefined) {
    const found = requireClass(className, classes)
    if (ipFamily === undefined || ipFamily === found.spec.ipFamily) return found
    throw new Refused({ type: 'NoOfferingPool', message: `class ${className} gives ${found.spec.ipFamily}, not ${ipFamily}` })
  }
  if (ipFamily === undefined)
    throw new Refused({ type: 'NoDefaultClass', message: 'the claim names neither a class nor a family' })
  const found = classes.find((each) => isDefault(each) && each.spec.ipFamily === ipFamily)
  if (!found) throw new Refused({ type: 'NoDefaultClass', message: `no class is the default of ${ipFamily}` })
  return found
}

/** Throws `Refused`. */
export function requireClass(name: string, classes: readonly IPClass[]): IPClass {
  const found = classes.find(({ metadata }) => metadata.name === name)
  if (!found) throw new Refused({ type: 'ClassNotFound', message: `there is no class ${name}` })
  return found
}

/** The class and those whose pools it takes from, nearest first. Throws `Refused`, also where they go in a circle. */
export function lineageOf(found: IPClass, classes: readonly IPClass[]): IPClass[] {
  const line = [found]
  for (let name = found.spec.parentClassName; name !== undefined; name = line.at(-1)?.spec.parentClassName) {
    if (line.some(({ metadata }) => metadata.name === name))
      throw new Refused({ type: 'NoOfferingPool', message: `class ${name} is its own ancestor` })
    line.push(requireClass(name, classes))
  }
  return line
}

/** One refusal for each role that pools or uniqueness of the class are by and that the scope lacks. */
export function rolesMissing({ scope = {} }: Spec, lineage: readonly IPClass[]): Refusal[] {
  const roles = new Set(lineage.flatMap(({ spec }) => [...(spec.poolPer ?? []), ...(spec.uniqueWithin ?? [])]))
  const missing = [...roles].filter((role) => scope[role] === undefined)
  return missing.map((role) => ({
    type: 'ScopeRolesMissing',
    field: `spec.scope.${role}`,
    message: `class ${lineage[0]?.metadata.name} needs a ${role} in the scope`,
  }))
}

/** Length of a block that the claim gets. Throws `Refused`. */
export function lengthFor({ prefixLength }: Spec, { metadata, spec }: IPClass): number {
  const { defaultPrefixLength, allowedPrefixLengths } = spec
  const length = prefixLength ?? defaultPrefixLength
  const { min = defaultPrefixLength ?? 0, max = defaultPrefixLength ?? 128 } = allowedPrefixLengths ?? {}
  if (length !== undefined && length >= min && length <= max) return length
  const offered = min === max ? `/${min} only` : `/${min} to /${max}`
  throw new Refused({
    type: 'PrefixLengthRejected',
    field: 'spec.prefixLength',
    message: `class ${metadata.name} gives ${offered}${length === undefined ? ', and none of its own accord' : `, not /${length}`}`,
  })
}
