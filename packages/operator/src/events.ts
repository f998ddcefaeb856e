/** What happened to an object, told to people as an Event. All of them are in docs/events.md. */
import type { KubeObject } from 'kube-control-loop'

export type Happening<Reason extends string = string> = {
  readonly type: 'Normal' | 'Warning'
  readonly reason: Reason
  /** What NSO did or tried. */
  readonly action: string
  readonly message: string
  /** The other object concerned. */
  readonly related?: KubeObject
}

/** Returns at once, and cannot fail. */
export type Tell = (about: KubeObject, happening: Happening) => void

/** As the recorder takes it: of one reason on one object there is one series, whatever else its texts tell. */
export function noteOf({ message, ...happening }: Happening) {
  return { ...happening, note: message, noteVaries: true }
}
