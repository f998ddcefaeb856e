/** All cases, in the order in which they run: that of the rules, except that what looks back on the whole run comes last. */
import type { Case } from '../case.ts'
import { jointPermissions, noPermission, noRequest } from './access.ts'
import { duplicateCreate, uid } from './incarnations.ts'
import { burst, idle } from './load.ts'
import { foreignStatusRefused, reportRestored } from './meddling.ts'
import { anyOrder, deletion, deletionOrder } from './order.ts'
import { generation, networkValues, prepared, programmedBothWays, wellFormed } from './report.ts'
import { requestUntouched } from './request.ts'
import { restart } from './restart.ts'
import { acceptsRequest, keyedConditions, kinds } from './schema.ts'

export const cases: readonly Case[] = [
  kinds,
  acceptsRequest,
  prepared,
  generation,
  programmedBothWays,
  uid,
  reportRestored,
  foreignStatusRefused,
  requestUntouched,
  restart,
  duplicateCreate,
  anyOrder,
  deletion,
  deletionOrder,
  idle,
  burst,
  noPermission,
  jointPermissions,
  keyedConditions,
  networkValues,
  wellFormed,
  noRequest,
]
