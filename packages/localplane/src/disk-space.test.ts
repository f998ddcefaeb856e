import assert from 'node:assert/strict'
import { test } from 'node:test'
import { controlPlaneNeeds, requireDiskSpace } from './disk-space.ts'

const places = { cache: '/nonexistent/cache', goCache: '/nonexistent/go-build', modules: '/nonexistent/mod' }

test('a build begins when every disk has room', async () => {
  await requireDiskSpace(places, controlPlaneNeeds, async () => ({ device: 1, megabytes: 10_000 }))
})

test('what shares a disk is added up', async () => {
  await assert.rejects(() => requireDiskSpace(places, controlPlaneNeeds, async () => ({ device: 1, megabytes: 4300 })), {
    code: 'NO_DISK_SPACE',
    message: /needs 4400 MiB on the disk of \/nonexistent\/cache, which has 4300 MiB free; .*XDG_CACHE_HOME, GOCACHE, GOMODCACHE/,
  })
})

test('what lies on disks of its own is not', async () => {
  const devices = new Map([
    [places.cache, 1],
    [places.goCache, 2],
    [places.modules, 3],
  ])
  const free = (megabytes: number) => async (path: string) => ({ device: devices.get(path) ?? 0, megabytes })
  await requireDiskSpace(places, controlPlaneNeeds, free(3200))
  await assert.rejects(() => requireDiskSpace(places, controlPlaneNeeds, free(3199)), {
    message: /3200 MiB on the disk of \/nonexistent\/go-build/,
  })
})

test('a directory that does not exist yet counts by the disk it will be on', async () => {
  await requireDiskSpace({ cache: '/tmp', goCache: '/tmp', modules: '/tmp' }, controlPlaneNeeds, async () => ({
    device: 1,
    megabytes: 4400,
  }))
})
