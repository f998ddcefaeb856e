/**
 * Completion of the command line, in the form that kubectl's plugins use: candidates, one a line with a description after a
 * tab, then `:` and directives for the shell. Source: cobra's `__complete`. Commands and options come from the command line's own
 * declaration, so that none is forgotten.
 */
import type { Command, Option } from 'commander'

/** Bits of the last line, as cobra numbers them. */
export const directives = { noSpace: 2, noFiles: 4 } as const

export type Candidate = { value: string; about?: string }
export type Completion = { candidates: readonly Candidate[]; directive: number }

/** What only a cluster knows; answers nothing when it cannot be asked. */
export type NameSource = {
  /** Names of claims or interfaces. */
  names(kind: 'claim' | 'interface', flags: NameFlags): Promise<readonly string[]>
  namespaces(flags: NameFlags): Promise<readonly string[]>
}
export type NameFlags = { namespace?: string; kubeconfig?: string }

const nothing: Completion = { candidates: [], directive: directives.noFiles }
const files: Completion = { candidates: [], directive: 0 }

const words = (values: readonly string[]): Completion => ({
  candidates: values.map((value) => ({ value })),
  directive: directives.noFiles,
})

/** Words that `explain` takes for a kind; those before the slash of `claim/web-0`. */
const kinds = ['claim', 'interface'] as const
const synonyms: Readonly<Record<string, (typeof kinds)[number]>> = {
  ...{ claim: 'claim', nicc: 'claim', networkinterfaceclaim: 'claim', networkinterfaceclaims: 'claim' },
  ...{ interface: 'interface', nic: 'interface', networkinterface: 'interface', networkinterfaces: 'interface' },
}

type Line = { command: Command; positionals: string[]; flags: NameFlags; pending: Option | undefined }

const optionOf = ({ options }: Command, word: string): Option | undefined =>
  options.find(({ short, long }) => word === short || word === long)

/** Reads the words before the one that is completed. */
function readLine(program: Command, before: readonly string[]): Line {
  const line: Line = { command: program, positionals: [], flags: {}, pending: undefined }
  for (const word of before) {
    if (line.pending) {
      keepFlag(line, line.pending, word)
      line.pending = undefined
    } else if (word.startsWith('-')) {
      const [name = '', value] = word.split('=', 2)
      const option = optionOf(line.command, name)
      if (option && takesValue(option)) {
        if (value === undefined) line.pending = option
        else keepFlag(line, option, value)
      }
    } else {
      const sub = line.positionals.length === 0 ? line.command.commands.find((each) => each.name() === word) : undefined
      if (sub) line.command = sub
      else line.positionals.push(word)
    }
  }
  return line
}

const takesValue = ({ required, optional }: Option): boolean => required || optional

function keepFlag({ flags }: Line, option: Option, value: string): void {
  const name = option.attributeName()
  if (name === 'namespace') flags.namespace = value
  if (name === 'kubeconfig') flags.kubeconfig = value
}

async function valuesOf(option: Option, { flags }: Line, names: NameSource): Promise<Completion> {
  if (option.argChoices) return words(option.argChoices)
  if (option.attributeName() === 'namespace') return words(await names.namespaces(flags))
  return /file|dir/i.test(option.flags) ? files : nothing
}

const prefixed = (prefix: string, { candidates, directive }: Completion): Completion => ({
  candidates: candidates.map((each) => ({ ...each, value: `${prefix}${each.value}` })),
  directive,
})

async function targets({ positionals, flags }: Line, current: string, names: NameSource): Promise<Completion> {
  const [first] = positionals
  if (first !== undefined) {
    const kind = positionals.length === 1 ? synonyms[first] : undefined
    return kind === undefined ? nothing : words(await names.names(kind, flags))
  }
  const slash = current.indexOf('/')
  if (slash < 0) return { ...words(kinds.map((kind) => `${kind}/`)), directive: directives.noFiles | directives.noSpace }
  const typed = current.slice(0, slash)
  const kind = synonyms[typed]
  return kind === undefined ? nothing : words((await names.names(kind, flags)).map((name) => `${typed}/${name}`))
}

function declared({ command, positionals }: Line): Completion {
  const argument = command.registeredArguments[positionals.length]
  if (argument?.argChoices) return words(argument.argChoices)
  const subcommands = positionals.length > 0 ? [] : command.createHelp().visibleCommands(command)
  const candidates = subcommands.map((each) => ({ value: each.name(), about: each.description() }))
  return { candidates, directive: directives.noFiles }
}

async function candidatesFor(program: Command, line: Line, current: string, names: NameSource): Promise<Completion> {
  if (line.pending) return valuesOf(line.pending, line, names)
  if (current.startsWith('-')) {
    const [name = '', value] = current.split('=', 2)
    const option = value === undefined ? undefined : optionOf(line.command, name)
    if (option) return prefixed(`${name}=`, await valuesOf(option, line, names))
    const options = line.command.createHelp().visibleOptions(line.command)
    const candidates = options.map(({ long, short, description }) => ({ value: long ?? short ?? '', about: description }))
    return { candidates, directive: directives.noFiles }
  }
  return line.command !== program && line.command.name() === 'explain' ? targets(line, current, names) : declared(line)
}

/** Completes the last of the words that follow `nso`; it may be empty. */
export async function complete(program: Command, typed: readonly string[], names: NameSource): Promise<Completion> {
  const current = typed.at(-1) ?? ''
  const { candidates, directive } = await candidatesFor(program, readLine(program, typed.slice(0, -1)), current, names)
  return { candidates: candidates.filter(({ value }) => value.startsWith(current)), directive }
}

export function renderCompletion({ candidates, directive }: Completion): string {
  const lines = candidates.map(({ value, about }) => (about ? `${value}\t${about.split('\n')[0]}` : value))
  return [...lines, `:${directive}`].join('\n')
}
