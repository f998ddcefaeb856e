/** Without its handling of races Galactic fails every check on one. */
import { testPlanted } from 'kube-multus/testing/planes'
import { rows } from './rows.ts'
import { startSite } from './world.ts'

testPlanted({ rows, start: startSite })
