/** Looks at the disks before a build that would fill them. */
import { stat, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { LocalplaneError } from './errors.ts'

/** In MiB. `what` is for people; where the folder `marker` of the module cache stands, the modules are there already. */
export type BuildNeeds = { what: string; binary: number; buildCache: number; modules: number; marker: string }

/** Measured for Kubernetes 1.36 and rounded up. */
export const controlPlaneNeeds: BuildNeeds = {
  what: 'the control plane',
  binary: 300,
  buildCache: 3200,
  modules: 900,
  marker: 'k8s.io',
}

export type BuildPlaces = { cache: string; goCache: string; modules: string }

/** Rejects with `NO_DISK_SPACE`, naming the directory, what is free and what is needed. Modules already there need no room. */
export async function requireDiskSpace(places: BuildPlaces, needs: BuildNeeds, free = freeMegabytes): Promise<void> {
  const haveModules = await exists(join(places.modules, needs.marker))
  const wanted: [string, number][] = [
    [places.cache, needs.binary],
    [places.goCache, needs.buildCache],
    [places.modules, haveModules ? 0 : needs.modules],
  ]
  const disks = new Map<number, { path: string; needed: number; free: number }>()
  for (const [path, needed] of wanted) {
    const disk = await free(path)
    const entry = disks.get(disk.device) ?? { path, needed: 0, free: disk.megabytes }
    entry.needed += needed
    disks.set(disk.device, entry)
  }
  for (const { path, needed, free: available } of disks.values()) {
    if (available < needed) {
      throw new LocalplaneError(
        'NO_DISK_SPACE',
        `building ${needs.what} needs ${needed} MiB on the disk of ${path}, which has ${available} MiB free; ` +
          'make room, or put the caches elsewhere (XDG_CACHE_HOME, GOCACHE, GOMODCACHE)',
      )
    }
  }
}

/** Of the nearest directory that exists. */
async function freeMegabytes(path: string): Promise<{ device: number; megabytes: number }> {
  let at = path
  while (!(await exists(at)) && dirname(at) !== at) at = dirname(at)
  const { bavail, bsize } = await statfs(at)
  return { device: (await stat(at)).dev, megabytes: Math.floor((bavail * bsize) / 2 ** 20) }
}

async function exists(path: string): Promise<boolean> {
  return await stat(path).then(
    () => true,
    () => false,
  )
}
