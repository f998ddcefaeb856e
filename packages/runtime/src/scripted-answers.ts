/** Answers of kube-apiserver 1.36, word for word as measured, for scripts: the ones a test cannot make the real server give at will. */
import type { StatusCause, StatusDetails } from './api-error.ts'
import type { Kind } from './kind.ts'
import type { FieldConflict } from './races.ts'
import type { ApiResponse } from './transport.ts'

type Named = { name: string; namespace?: string | undefined }

/** A refusal as the server writes it. */
export function statusAnswer(code: number, reason: string, message: string, details?: StatusDetails): ApiResponse {
  const body = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason, details, code }
  return { status: code, headers: { 'content-type': 'application/json' }, body }
}

function textAnswer(status: number, body: string): ApiResponse {
  return { status, headers: { 'content-type': 'text/plain; charset=utf-8' }, body }
}

const resourceOf = (kind: Kind) => (kind.group ? `${kind.plural}.${kind.group}` : kind.plural)
const detailsOf = (kind: Kind, { name }: Named): StatusDetails => ({ name, group: kind.group, kind: kind.plural })

const ghostUid = '00000000-0000-0000-0000-000000000001'

/** Checks of metadata are made, and told, twice by the server. */
const twice = (cause: StatusCause): StatusCause[] => [cause, cause]

function invalid(kind: Kind, at: Named, field: string, causes: readonly StatusCause[]): ApiResponse {
  const message = `${kind.kind}.${kind.group} "${at.name}" is invalid: ${field}: ${causes[0]?.message}`
  const details = { name: at.name, group: kind.group, kind: kind.kind, causes: causes.map((cause) => ({ ...cause, field })) }
  return statusAnswer(422, 'Invalid', message, details)
}

export const answers = {
  ok: (body: unknown): ApiResponse => ({ status: 200, headers: { 'content-type': 'application/json' }, body }),

  alreadyExists: (kind: Kind, at: Named) =>
    statusAnswer(409, 'AlreadyExists', `${resourceOf(kind)} "${at.name}" already exists`, detailsOf(kind, at)),

  /** A stale resourceVersion. */
  modified: (kind: Kind, at: Named) =>
    statusAnswer(
      409,
      'Conflict',
      `Operation cannot be fulfilled on ${resourceOf(kind)} "${at.name}": the object has been modified; please apply your changes to the latest version and try again`,
      detailsOf(kind, at),
    ),

  /** An apply with a uid on an object that is not there. */
  uidMismatch: (kind: Kind, at: Named) =>
    statusAnswer(
      409,
      'Conflict',
      `Operation cannot be fulfilled on ${resourceOf(kind)} "${at.name}": uid mismatch: the provided object specified uid ${ghostUid}, and no existing object was found`,
      detailsOf(kind, at),
    ),

  /** A delete whose uid precondition names another object. */
  uidPrecondition: (kind: Kind, at: Named) =>
    statusAnswer(
      409,
      'Conflict',
      `Operation cannot be fulfilled on ${kind.kind}.${kind.group} "${at.name}": the UID in the precondition (${ghostUid}) does not match the UID in record (00000000-0000-0000-0000-000000000002). The object might have been deleted and then recreated`,
      { name: at.name, group: kind.group, kind: kind.kind },
    ),

  fieldManagerConflict: (conflicts: readonly FieldConflict[]) =>
    statusAnswer(
      409,
      'Conflict',
      `Apply failed with ${conflicts.length} conflict${conflicts.length === 1 ? '' : 's'}: ${conflicts
        .map(({ manager, field }) => `conflict with ${JSON.stringify(manager)} with subresource "status": ${field}`)
        .join('\n')}`,
      {
        causes: conflicts.map(({ manager, field }) => ({
          reason: 'FieldManagerConflict',
          message: `conflict with ${JSON.stringify(manager)} with subresource "status"`,
          field,
        })),
      },
    ),

  /** A JSON patch whose `test` fails. */
  testFailed: () => statusAnswer(422, 'Invalid', 'the server rejected our request due to an error in our request', {}),

  /** A write that carries the uid of an earlier object of that name. */
  uidImmutable: (kind: Kind, at: Named) =>
    invalid(
      kind,
      at,
      'metadata.uid',
      twice({ reason: 'FieldValueInvalid', message: `Invalid value: "${ghostUid}": field is immutable` }),
    ),

  noNewFinalizers: (kind: Kind, at: Named, finalizer: string) => {
    const message = `Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"${finalizer}"}`
    return invalid(kind, at, 'metadata.finalizers', twice({ reason: 'FieldValueForbidden', message }))
  },

  invalid: (kind: Kind, at: Named, field: string, message: string) =>
    invalid(kind, at, field, [{ reason: 'FieldValueInvalid', message }]),

  notFound: (kind: Kind, at: Named) =>
    statusAnswer(404, 'NotFound', `${resourceOf(kind)} "${at.name}" not found`, detailsOf(kind, at)),

  namespaceNotFound: (namespace: string) =>
    statusAnswer(404, 'NotFound', `namespaces "${namespace}" not found`, { name: namespace, kind: 'namespaces' }),

  namespaceTerminating: (kind: Kind, at: Named) =>
    statusAnswer(
      403,
      'Forbidden',
      `${resourceOf(kind)} "${at.name}" is forbidden: unable to create new content in namespace ${at.namespace} because it is being terminated`,
      {
        ...detailsOf(kind, at),
        causes: [
          {
            reason: 'NamespaceTerminating',
            message: `namespace ${at.namespace} is being terminated`,
            field: 'metadata.namespace',
          },
        ],
      },
    ),

  crdTerminating: (kind: Kind) =>
    statusAnswer(
      403,
      'Forbidden',
      `${resourceOf(kind)} is forbidden: create not allowed while custom resource definition is terminating`,
      { group: kind.group, kind: kind.plural },
    ),

  /** The path is not served. */
  pageNotFound: () => textAnswer(404, '404 page not found\n'),

  initializing: () => {
    const answer = statusAnswer(429, 'TooManyRequests', 'storage is (re)initializing', { retryAfterSeconds: 1 })
    return { ...answer, headers: { ...answer.headers, 'retry-after': '1' } }
  },

  tooManyRequests: (seconds: number) => {
    const message = 'too many requests, please try again later'
    const answer = statusAnswer(429, 'TooManyRequests', message, { retryAfterSeconds: seconds })
    return { ...answer, headers: { ...answer.headers, 'retry-after': String(seconds) } }
  },

  kindNotFound: (kind: Kind) =>
    statusAnswer(503, 'ServiceUnavailable', `Resource kind ${kind.group}/${kind.version}, Kind=${kind.kind} not found`),

  shuttingDown: () => statusAnswer(503, 'ServiceUnavailable', 'apiserver is shutting down'),

  unauthorized: () => statusAnswer(401, 'Unauthorized', 'Unauthorized'),

  forbidden: (kind: Kind, at: Named, verb: string) =>
    statusAnswer(
      403,
      'Forbidden',
      `${resourceOf(kind)} "${at.name}" is forbidden: User "system:serviceaccount:ns:sa" cannot ${verb} resource "${kind.plural}" in API group "${kind.group}" in the namespace "${at.namespace}"`,
      detailsOf(kind, at),
    ),

  typedPatchFailed: () =>
    textlessReason(
      500,
      'failed to create typed patch object (default/a; example.dev/v1, Kind=Widget): .status.foo: field not declared in schema',
    ),

  internalError: () =>
    statusAnswer(500, 'InternalError', 'Internal error occurred: etcdserver: request timed out', {
      causes: [{ message: 'etcdserver: request timed out' }],
    }),

  expired: () => statusAnswer(410, 'Expired', 'too old resource version: 1 (14102)'),
}

function textlessReason(code: number, message: string): ApiResponse {
  const body = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, code }
  return { status: code, headers: { 'content-type': 'application/json' }, body }
}
