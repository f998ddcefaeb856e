/** Write races of every write, each in a namespace and with controllers of its own. */
import { bring, testRaces } from 'kube-multus/testing/planes'
import { rows, startSite, subjects } from './subjects.ts'

testRaces({ rows, start: startSite, ready: (world) => bring(subjects, world) })
