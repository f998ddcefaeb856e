/** Without their handling of races the controllers fail every check on one. */
import { testPlanted } from 'kube-multus/testing/planes'
import { rows, startSite } from './subjects.ts'

testPlanted({ rows, start: startSite })
