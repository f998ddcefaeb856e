/**
 * The wire, as one small interface: everything above it works on any implementation, so that a test can put a layer in
 * between that answers, delays, drops or counts (`scripted-transport.ts`), and a leader can refuse its own writes.
 */

export type ApiRequest = {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Absolute path on the API server, without query. */
  path: string
  query?: Readonly<Record<string, string | undefined>>
  contentType?: string
  /** Serialised as JSON. */
  body?: unknown
}

export type ApiResponse = {
  status: number
  headers: Readonly<Record<string, string | string[] | undefined>>
  /** Parsed JSON, or the text where the body is no JSON (`404 page not found`). */
  body: unknown
}

export type Transport = {
  /** One request, one answer. Rejects only when there is no answer: refused, reset, aborted. */
  send(request: ApiRequest, signal: AbortSignal): Promise<ApiResponse>
  /**
   * A watch: lines of the answer as they come, complete ones only (a truncated tail is dropped). An answer other than
   * 200 is one `ApiResponse` in `opened`. Ends when the server ends it, rejects when the connection breaks or nothing
   * (no byte) came for the idle limit.
   */
  stream(request: ApiRequest, signal: AbortSignal): Promise<{ opened: ApiResponse; lines: AsyncIterable<string> }>
  /** Ends all connections. */
  close(): Promise<void>
}
