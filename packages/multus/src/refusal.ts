/** What the API server says when a process may not write network definitions. */
import { ApiError } from 'kube-control-loop'
import { NetworkAttachmentDefinition } from './network-attachment-definition.ts'

/**
 * The server's words, where a request for a definition was refused for lack of permission; undefined for every other fault. Whoever
 * waits for an attachment does not read the logs, so they belong on the attachment.
 */
export function definitionRefusal(error: unknown): string | undefined {
  const isPermission =
    error instanceof ApiError && error.status === 403 && error.path.includes(`/${NetworkAttachmentDefinition.plural}`)
  return isPermission ? error.text : undefined
}
