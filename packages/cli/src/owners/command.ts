/** `nso owners` on the command line. */
import process from 'node:process'
import { type Command, Option } from 'commander'
import { answering } from '../answering.ts'
import { formats, paintFor, write } from '../output.ts'
import type { OwnersFlags } from './run.ts'

export function addOwners(program: Command): void {
  program
    .command('owners')
    .description('print who writes what, or check a live cluster against it')
    .argument('[kind]', 'only of this kind')
    .option('--check', 'list each path of the cluster whose manager is not its documented one', false)
    .option(
      '--kubeconfig <file>',
      'whom to ask (default: the running nso up or npm start, else $KUBECONFIG, else ~/.kube/config)',
    )
    .addOption(new Option('-o, --output <format>', 'what is printed').choices(formats).default('text'))
    .addHelpText(
      'after',
      `
It reads, and writes nothing. --check looks at the kinds of data planes that have no table here, too, by what their DataPlanes say.
Exit status: 0; with --check 1 when anything is not as documented or could not be read, or nothing was there to look at.`,
    )
    .action(
      answering(async (kind: string | undefined, flags: OwnersFlags) => {
        const { answerOwners } = await import('./run.ts')
        const { text, status } = await answerOwners(kind, flags, paintFor(process.stdout))
        await write(text)
        return status
      }),
    )
}
