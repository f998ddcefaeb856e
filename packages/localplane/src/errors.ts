/** What can go wrong that its user can do something about. */

export type LocalplaneErrorCode =
  | 'NO_TOOLCHAIN'
  | 'NO_DISK_SPACE'
  | 'BUILD_FAILED'
  | 'ASSETS_INCOMPLETE'
  | 'ALREADY_RUNNING'
  | 'PORT_TAKEN'
  | 'START_FAILED'
  | 'NOT_RUNNING'
  | 'REQUEST_REFUSED'
  | 'NO_AUDIT_LOG'
  | 'NO_CREDENTIALS'
  | 'TIMED_OUT'

/** Its message is meant to be shown as it is: it says what happened, where, and what to do next. */
export class LocalplaneError extends Error {
  override name = 'LocalplaneError'
  readonly code: LocalplaneErrorCode
  constructor(code: LocalplaneErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/** Whether a thrown value is an operating system error with this code (`ENOENT`, `EADDRINUSE`, …). */
export function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && (error as NodeJS.ErrnoException).code === code
}
