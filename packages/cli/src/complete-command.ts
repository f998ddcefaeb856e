/** `nso completion` and the hidden `nso __complete` that shells and kubectl call. */
import { Argument, type Command } from 'commander'
import { answering } from './answering.ts'
import type { NameSource } from './complete.ts'
import { completionScripts, type Shell, shells } from './complete-scripts.ts'
import { write } from './output.ts'

/** The cluster's client is loaded only where names are asked for: most completions need none. */
const names: NameSource = {
  names: async (...asked) => (await import('./complete-names.ts')).liveNames.names(...asked),
  namespaces: async (...asked) => (await import('./complete-names.ts')).liveNames.namespaces(...asked),
}

export function addCompletion(program: Command): void {
  program
    .command('completion')
    .description('print the completion script of a shell')
    .addArgument(new Argument('<shell>', 'whose script').choices(shells))
    .addHelpText(
      'after',
      `
bash   source <(nso completion bash)
zsh    source <(nso completion zsh)
fish   nso completion fish | source

kubectl completes "kubectl nso …" by itself where kubectl_complete-nso stands beside kubectl-nso on PATH.`,
    )
    .action(answering((shell: Shell) => write(completionScripts[shell].trimEnd())))
  program
    .command('__complete', { hidden: true })
    .argument('[words...]')
    .allowUnknownOption()
    .passThroughOptions()
    .helpOption(false)
    .action(
      answering(async (words: string[]) => {
        const { complete, renderCompletion } = await import('./complete.ts')
        await write(renderCompletion(await complete(program, words, names)))
      }),
    )
}
