/** Kinds as people type them: like kubectl, and shorter. */
import { Explained } from './failure.ts'

type Named = { readonly group: string; readonly kind: string; readonly plural: string; readonly shortNames?: readonly string[] }

const aliases: Readonly<Record<string, readonly string[]>> = {
  NetworkInterfaceClaim: ['claim', 'claims', 'nicc'],
  NetworkInterface: ['interface', 'interfaces', 'nic', 'nics'],
  NetworkContext: ['context'],
  VPCAttachment: ['attachment'],
  BridgeAttachment: ['batt'],
  BridgeNetwork: ['bnet'],
  NetworkAttachmentDefinition: ['nad'],
}

const namesOf = ({ group, kind, plural, shortNames = [] }: Named): string[] => {
  const plain = [kind.toLowerCase(), plural]
  return [...plain, ...plain.map((name) => `${name}.${group}`), ...shortNames, ...(aliases[kind] ?? [])]
}

const shown = (kind: Named): string => [kind.plural, ...(aliases[kind.kind] ?? []).slice(0, 1)].join(' or ')

/** Rejects a word that no kind has with `Explained`, which lists those there are. */
export function kindNamed<K extends Named>(kinds: readonly K[], word: string): K {
  const found = kinds.find((kind) => namesOf(kind).includes(word.toLowerCase()))
  if (found) return found
  throw new Explained(`There is no kind "${word}" here; there are: ${kinds.map(shown).join(', ')}.`)
}
