/**
 * Words of the system that asks for attachments. None of them may stand in Galactic or in the library it is built on: it must
 * be possible to ship and run them alone. The words are put together here, so that this file is free of them too.
 */

const joined = (...parts: string[]) => parts.join('')

const system = joined('n', 's', 'o')
const kinds = [
  joined('Network', 'Interface'),
  joined('Network', 'Context'),
  joined('Network', 'Binding'),
  joined('Serving', 'Location'),
  joined('Location', 'Binding'),
  joined('Address', 'Lease'),
  joined('IP', 'Claim'),
]
/** Kinds whose names are also parts of other words: they count only where they stand alone. */
const shortKinds = [joined('Data', 'Plane'), joined('Sub', 'net')]
const shortPlurals = [joined('sub', 'nets'), joined('data', 'planes'), joined('net', 'works')]

const patterns: readonly RegExp[] = [
  new RegExp(joined('networking', '\\.', 'datumapis'), 'i'),
  new RegExp(joined('network', '[-_ ]?', 'services'), 'i'),
  new RegExp(`(?<![a-z0-9])${system}(?![a-z0-9])`, 'i'),
  ...kinds.map((kind) => new RegExp(kind, 'i')),
  ...shortKinds.map((kind) => new RegExp(`(?<![A-Za-z])${kind}(?![A-Za-z])`)),
  // Resources as they stand in roles and paths.
  ...shortPlurals.map((plural) => new RegExp(`(apis/[^ ]*/|resources:[^\\n]*['"\\[ ])${plural}\\b`)),
]

/** The foreign words in a text, each with the line it stands on. `own`: a kind that is none to whoever wrote it. */
export function foreignWords(text: string, own?: string): string[] {
  return text.split('\n').flatMap((line, index) =>
    patterns.flatMap((pattern) => {
      const found = pattern.exec(line)?.[0]
      const isForeign = found !== undefined && found.toLowerCase() !== own?.toLowerCase()
      return isForeign ? [`line ${index + 1}: ${found} in: ${line.trim().slice(0, 120)}`] : []
    }),
  )
}
