/** What can be wrong with a data plane, one thing at a time: each breaks one rule, and the suite must say that it is this one. */
import type { CaseName } from '../src/index.ts'

type Broken = {
  /** The only case that fails. */
  readonly fails: CaseName
  /** What the plane does, for people. */
  readonly says: string
}

export const faults = {
  'network-without-status': { fails: 'kinds', says: 'serves its network kind without a status subresource' },
  'field-dropped': { fails: 'accepts-request', says: 'knows no field for the name of the device' },
  'waits-for-workload': { fails: 'prepared', says: 'is prepared only when a workload sends traffic' },
  'reason-of-words': { fails: 'well-formed', says: 'gives a whole sentence as the reason' },
  'traffic-of-words': { fails: 'well-formed', says: 'gives a whole sentence as the reason once there is traffic' },
  'old-generation': { fails: 'generation', says: 'says of traffic what holds for the first generation, also after a change' },
  'programmed-for-ever': { fails: 'programmed-both-ways', says: 'never takes Programmed back' },
  'programmed-too-soon': { fails: 'programmed-both-ways', says: 'says that traffic flows before there is any' },
  'report-by-name': { fails: 'uid', says: 'says of the next socket of a name what it had said of the last' },
  'says-it-once': { fails: 'report-restored', says: 'does not look whether what it said still stands' },
  unguarded: { fails: 'foreign-status-refused', says: 'has no policy that keeps others from writing its report' },
  'labels-sockets': { fails: 'request-untouched', says: 'writes a label on the socket' },
  'takes-all-finalizers': { fails: 'request-untouched', says: 'takes the finalizers of others off with its own' },
  'forgets-codes': { fails: 'restart', says: 'gives all sockets new codes when it starts' },
  'plug-by-name': { fails: 'duplicate-create', says: 'gives up when a plug of the name is there already' },
  'looks-once-for-the-board': { fails: 'any-order', says: 'does not see a board that comes later' },
  'leaves-plugs': { fails: 'deletion', says: 'leaves the plug of a deleted socket behind' },
  'needs-board-to-unplug': { fails: 'deletion-order', says: 'unplugs only while the board is not being deleted' },
  heartbeat: { fails: 'idle', says: 'writes the time on each plug, again and again' },
  'too-few-codes': { fails: 'burst', says: 'has codes for a few dozen sockets at a time, and forgets the rest' },
  'may-read-interfaces': { fails: 'no-permission', says: 'may read what it is not asked to read' },
  'asks-for-interfaces': { fails: 'no-request', says: 'asks for interfaces, in vain' },
  'report-for-everybody': { fails: 'joint-permissions', says: 'lets whoever asks for sockets write their report' },
  'conditions-as-a-whole': { fails: 'keyed-conditions', says: 'declares its conditions as an atomic list' },
} as const satisfies Record<string, Broken>

export type Fault = keyof typeof faults
