/** Reading conditions of objects of any kind. */

export type Condition = { type: string; status: string; reason: string; message: string }

type Conditioned = { readonly status?: unknown } | undefined

export function conditionOf(object: Conditioned, type: string): Condition | undefined {
  const { conditions = [] } = (object?.status ?? {}) as { conditions?: readonly Condition[] }
  return conditions.find((each) => each.type === type)
}

/** `True Bound`; empty where there is no such condition. */
export function said(object: Conditioned, type: string): string {
  const found = conditionOf(object, type)
  return found ? `${found.status} ${found.reason}` : ''
}

/** All of them in a line, for whoever reads why something did not come about. */
export function conditionLine(object: Conditioned): string {
  const { conditions = [] } = (object?.status ?? {}) as { conditions?: readonly Condition[] }
  return conditions.map(({ type, status, reason, message }) => `${type} ${status} ${reason} (${message})`).join('; ')
}
