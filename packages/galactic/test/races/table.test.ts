/** Write races of every write, each in a namespace and with a Galactic of its own. */
import { bring, testRaces } from 'kube-multus/testing/planes'
import { rows, subjects } from './rows.ts'
import { startSite } from './world.ts'

testRaces({ rows, start: startSite, ready: (world) => bring(subjects, world) })
