/** What a refused write of an attachment means. Pure. Source: Kubernetes API conventions, "HTTP Status codes". */
import { ApiError } from 'kube-control-loop'

/** The words of the API server when an authorizer, of whatever sort, finds no permission. */
const noPermission = /User "[^"]*" cannot \S+ resource/

export const lacksPermission = ({ status, text }: ApiError): boolean => status === 403 && noPermission.test(text)

/**
 * Why the API server takes an object in no form, in its own words: its schema, a policy, a quota or a webhook is against it.
 * Undefined for everything else: faults that may pass, a namespace that is going, and a lack of permission, which the DataPlane's
 * status tells of.
 */
export function refusalOf(error: unknown): string | undefined {
  if (!(error instanceof ApiError) || lacksPermission(error)) return undefined
  if (error.causes.some(({ reason }) => reason === 'NamespaceTerminating')) return undefined
  const { status, isStatus, text, message } = error
  const isRefusal = status === 422 || (isStatus && (status === 400 || status === 403)) || isDeniedByWebhook(error)
  return isRefusal ? brief(text || message) : undefined
}

const longestValue = 120

/** The server may repeat the whole object as the value that is wrong. */
const brief = (words: string): string =>
  words.replace(/(Invalid value: )"(?:\\.|[^"\\])*"/g, (all, before: string) =>
    all.length > before.length + longestValue ? `${before}…` : all,
  )

/** A webhook may choose any code. */
const isDeniedByWebhook = ({ status, text }: ApiError): boolean =>
  status >= 400 && status < 500 && /^admission webhook "[^"]*" denied the request/.test(text)
