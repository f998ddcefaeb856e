import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BadArguments, readArguments } from './arguments.ts'
import { scenarios } from './index.ts'

const namesOf = (args: readonly string[]) => readArguments(args).chosen.map(({ name }) => name)
const all = scenarios.map(({ name }) => name)

const table: { says: string; args: string[]; names: readonly string[]; modes: string[] }[] = [
  { says: 'all of them, both ways', args: [], names: all, modes: ['builtin', 'ipam'] },
  {
    says: 'the named ones, in the order of the page',
    args: ['reclaim-delete', 'dual-stack'],
    names: ['dual-stack', 'reclaim-delete'],
    modes: ['builtin', 'ipam'],
  },
  {
    says: 'those of one way',
    args: ['--addresses', 'builtin'],
    names: scenarios.filter(({ modes }) => modes.includes('builtin')).map(({ name }) => name),
    modes: ['builtin'],
  },
  {
    says: 'what is played one way only',
    args: ['unlabeled-namespace'],
    names: ['unlabeled-namespace'],
    modes: ['builtin', 'ipam'],
  },
]
for (const { says, args, names, modes } of table) {
  test(`npm run scenarios -- ${args.join(' ')}: ${says}`, () => {
    assert.deepEqual(namesOf(args), names)
    assert.deepEqual(readArguments(args).modes, modes)
  })
}

test('what is not there is refused with what there is', () => {
  const refused: [string[], RegExp][] = [
    [['no-such'], /no-such: there are dual-stack, /],
    [['--addresses', 'dhcp'], /dhcp: there are builtin, ipam and both/],
    [['unlabeled-namespace', '--addresses', 'builtin'], /none of these is played with --addresses builtin/],
    [['--verbose'], /--verbose/],
  ]
  for (const [args, message] of refused) {
    assert.throws(
      () => readArguments(args),
      (error) => error instanceof BadArguments && message.test(error.message),
    )
  }
})
