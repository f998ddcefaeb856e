/** Which of the systems that run on this machine a command means. */
import { createInstances, type Instance, type Instances } from './instances.ts'

/** The one of `nso up`, else the newest that is ready. */
export function findCurrent(instances: Instances = createInstances()): Instance | undefined {
  const ready = instances.live().filter((instance) => instance.ready)
  return ready.find(({ mode }) => mode === 'up') ?? ready[0]
}
