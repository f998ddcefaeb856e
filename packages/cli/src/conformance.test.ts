import assert from 'node:assert/strict'
import { test } from 'node:test'
import { outputFormats } from '@nso/conformance'
import { planeNames } from '@nso/conformance/planes'
import { Command, CommanderError } from 'commander'
import { complete } from './complete.ts'
import { addConformance, type ConformanceFlags, ownPlanes } from './conformance.ts'
import { conform } from './conformance-run.ts'

const nso = () => {
  const program = new Command('nso').enablePositionalOptions()
  addConformance(program)
  return program
}
const nobody = { names: async () => [], namespaces: async () => [] }
const completed = async (...typed: string[]) =>
  (await complete(nso(), ['conformance', ...typed], nobody)).candidates.map(({ value }) => value)

test('the command line knows the data planes and the formats of the suite, and completes them', async () => {
  assert.deepEqual([...ownPlanes].sort(), [...planeNames].sort())
  assert.deepEqual((await completed('')).sort(), [...planeNames].sort())
  assert.deepEqual((await completed('--format', '')).sort(), [...outputFormats].sort())
})

test('its help names what the suite must be given', () => {
  const help = nso().commands[0]?.helpInformation() ?? ''
  for (const option of ['--data-plane', '--user', '--audit-log', '--restart-command', '--traffic-start-command', '--verify']) {
    assert.ok(help.includes(option), option)
  }
})

/** As the command line leaves them when nothing is said. */
const flags: ConformanceFlags = { planeVersion: 'unknown', detachGrace: 1, burst: 1, idle: 1, patience: 1, format: 'tap' }
const missing = '/nowhere/data-plane.yaml'

const mistakes: { says: string; name?: string; given: Partial<ConformanceFlags>; want: RegExp }[] = [
  { says: 'no data plane', given: {}, want: /Name one data plane/ },
  { says: 'two data planes', name: 'galactic', given: { dataPlane: 'wires' }, want: /Name one data plane/ },
  { says: 'a report to look at, and a data plane', name: 'galactic', given: { verify: missing }, want: /tries no data plane/ },
  {
    says: 'somebody else’s cluster for one that has its own',
    name: 'galactic',
    given: { kubeconfig: 'admin.yaml' },
    want: /--kubeconfig goes with --data-plane: galactic has a control plane of its own/,
  },
  {
    says: 'a hook for one that has its own',
    name: 'bridge',
    given: { restartCommand: 'true' },
    want: /--restart-command goes with/,
  },
  { says: 'a signature under nothing', given: { dataPlane: 'wires', signedOffBy: 'me' }, want: /goes with --report/ },
  { says: 'a report where none can be', given: { dataPlane: 'wires', report: '/nowhere/r.yaml' }, want: /cannot be written/ },
  { says: 'a case that there is not', given: { dataPlane: 'wires', only: ['uid', 'speed'] }, want: /no case speed/ },
  { says: 'cases without a name', given: { dataPlane: 'wires', only: ['', ' '] }, want: /--only names no case/ },
  { says: 'half of the traffic', given: { dataPlane: 'wires', trafficStopCommand: 'true' }, want: /traffic-.*go together/ },
  {
    says: 'half of the lifting',
    given: { dataPlane: 'wires', liftCommand: 'true' },
    want: /--lift-command and --restore-command/,
  },
  { says: 'a file that is not there', given: { dataPlane: 'wires', file: missing }, want: /data-plane\.yaml cannot be read/ },
  {
    says: 'a file with another data plane',
    given: { dataPlane: 'wires', file: 'deploy/data-planes/galactic.yaml' },
    want: /has no DataPlane wires; it has galactic/,
  },
  {
    says: 'a kubeconfig that is not there',
    given: { dataPlane: 'wires', kubeconfig: '/nowhere/config' },
    want: /No cluster to ask: \/nowhere\/config/,
  },
]
for (const { says, name, given, want } of mistakes) {
  test(`${says} is a mistake that is said`, async () => {
    await assert.rejects(conform(name, { ...flags, ...given }), (error: Error) => {
      assert.equal(error.name, 'Explained')
      assert.match(error.message, want)
      return true
    })
  })
}

const parsed = (...args: string[]) => {
  const program = nso().exitOverride()
  for (const command of program.commands) command.exitOverride().configureOutput({ writeErr: () => {} })
  return program.parseAsync(['conformance', ...args], { from: 'user' })
}
const values: { given: string[]; want: RegExp }[] = [
  { given: ['--burst', '0'], want: /from 1 to 20000/ },
  { given: ['--burst', '20001'], want: /from 1 to 20000/ },
  { given: ['--burst', 'many'], want: /from 1 to 20000/ },
  { given: ['--patience', '5'], want: /is no duration/ },
  { given: ['--patience', '0s'], want: /longer than nothing/ },
  { given: ['--idle', '0'], want: /longer than nothing/ },
  { given: ['--format', 'xml'], want: /Allowed choices/ },
  { given: ['submarine'], want: /Allowed choices/ },
]
for (const { given, want } of values) {
  test(`${given.join(' ')} is refused`, async () => {
    await assert.rejects(parsed(...given), (error) => error instanceof CommanderError && want.test(error.message))
  })
}
