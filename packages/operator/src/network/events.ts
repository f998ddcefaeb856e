/** Which transitions of networks, contexts and Subnets are worth an Event: one is refused, and that is over. Pure. */
import type { Condition, ConditionIntent, StatusOwner, StatusWriter } from 'kube-control-loop'
import type { Happening, Tell } from '../events.ts'

type Said = Pick<Condition | ConditionIntent<string>, 'type' | 'status' | 'reason' | 'message'>

/** As no router reports on Subnets, this stands for ever and stops nobody. */
const quiet = 'NotProgrammed'

/** The refusal itself, not Ready that repeats it. */
function refusalIn(conditions: readonly Said[]): Said | undefined {
  const refused = conditions.filter(({ status }) => status === 'False')
  const first = refused.find(({ type }) => type !== 'Ready') ?? refused[0]
  return first?.reason === quiet ? undefined : first
}

/** Compares with the conditions that stand, so that it is told once, in whatever process. */
export function transitionOf(stands: readonly Said[], intent: readonly Said[], action: string): Happening | undefined {
  const [before, now] = [refusalIn(stands), refusalIn(intent)]
  if (now) {
    const { reason, message } = now
    return before?.reason === reason ? undefined : { type: 'Warning', reason, action, message }
  }
  const [first] = intent
  if (!before || first?.status !== 'True') return undefined
  return { type: 'Normal', reason: first.reason, action, message: first.message }
}

type Conditioned = { conditions?: readonly Said[] | undefined }

/** A status writer that tells of transitions, once their status stands. */
export function telling<S, T, Owner extends StatusOwner>(
  writer: StatusWriter<S, T, Owner>,
  action: string,
  tell: Tell,
): StatusWriter<S, T, Owner> {
  return {
    ...writer,
    async status(object, intent, signal) {
      const before = (object.status as Conditioned | undefined)?.conditions ?? []
      const happening = transitionOf(before, (intent as Conditioned).conditions ?? [], action)
      const stands = await writer.status(object, intent, signal)
      if (happening) tell(object, happening)
      return stands
    },
  }
}
