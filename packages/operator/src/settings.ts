/** What an administrator may set. Every setting has a value that works. */

export type Settings = {
  /** Name of this location, where no single ServingLocation tells it. */
  readonly location: string | undefined
  /** Whether this process also makes contexts and subnets from Networks; off where they arrive by propagation. */
  readonly networkControllers: boolean
  /** How long a first status waits for the data plane's report, in ms. */
  readonly earlyStatusAfterMs: number
  /** How long a rejected claim waits when no watch wakes it earlier, in ms. */
  readonly retryRejectedMs: number
}

export const defaultSettings: Settings = {
  location: undefined,
  networkControllers: true,
  earlyStatusAfterMs: 250,
  retryRejectedMs: 60_000,
}
