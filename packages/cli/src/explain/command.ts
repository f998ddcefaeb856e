/** `nso explain` on the command line. */
import process from 'node:process'
import { type Command, Option } from 'commander'
import { answering } from '../answering.ts'
import { formats, paintFor, write } from '../output.ts'
import type { ExplainFlags } from './run.ts'

export function addExplain(program: Command): void {
  program
    .command('explain')
    .description('say who reported what on a claim or an interface, from what, and at which hop its chain stops')
    .argument('<claim/NAME...>', 'claim/NAME or interface/NAME; also: claim NAME')
    .option('-n, --namespace <name>', 'namespace (default: that of the kubeconfig’s context)')
    .option(
      '--kubeconfig <file>',
      'whom to ask (default: the running nso up or npm start, else $KUBECONFIG, else ~/.kube/config)',
    )
    .addOption(new Option('-o, --output <format>', 'dump: what was read, for -f').choices([...formats, 'dump']).default('text'))
    .option('-f, --filename <file>', 'explain from a dump instead of asking a cluster; - is standard input')
    .addHelpText(
      'after',
      `
It reads, and writes nothing. A dump is what kubectl get … -o yaml --show-managed-fields prints (several documents and Lists
too), or what -o dump prints here; ages are then counted from the newest time in it.
Exit status: 0 when there is an explanation, also of something broken; else 1.`,
    )
    .action(
      answering(async (words: string[], flags: ExplainFlags) => {
        const { answerExplain } = await import('./run.ts')
        await write(await answerExplain(words, flags, paintFor(process.stdout)))
      }),
    )
}
