import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ownershipParameters } from 'kube-control-loop'
import { enforcement } from './enforcement.ts'
import { kinds, nsoManifestFiles, nsoManifests } from './manifests.ts'

const { crds, rbac, ipam, policies, ownership } = nsoManifests()

test('there is a definition for each kind, and each object is in exactly one file', () => {
  assert.equal(crds.length, kinds.length)
  const inFiles = nsoManifestFiles().flatMap(({ objects }) => objects)
  assert.deepEqual(inFiles, [...crds, ...rbac, ...ipam, ...policies, ...ownership, ownershipParameters(enforcement, 'Deny')])
})

test('no permission is wildcarded, and none is on a data plane’s kinds or on network definitions', () => {
  const text = JSON.stringify(rbac)
  assert.ok(!text.includes('"*"'))
  assert.ok(!/cloud\.datumapis\.com|k8s\.cni\.cncf\.io/.test(text))
})

test('at an address service NSO marks, and deletes, what is its own, and writes nothing else that stands', () => {
  const rules = ipam.flatMap((object) => ('rules' in object ? (object.rules as { resources: string[]; verbs: string[] }[]) : []))
  assert.deepEqual(
    rules.map(({ resources, verbs }) => [resources, verbs]),
    [
      [['ipclaims'], ['get', 'list', 'watch', 'create', 'patch', 'delete']],
      [['ipallocations'], ['get', 'list', 'delete']],
      [['ipclasses'], ['get']],
    ],
  )
})

test('of roles, NSO reads the one it is bound to', () => {
  const rules = rbac.flatMap((object) => ('rules' in object ? (object.rules as { resources: string[] }[]) : []))
  assert.deepEqual(
    rules.filter(({ resources }) => resources.some((resource) => /role/.test(resource))),
    [
      {
        apiGroups: ['rbac.authorization.k8s.io'],
        resources: ['clusterroles'],
        verbs: ['get', 'list', 'watch'],
        resourceNames: ['nso'],
      },
    ],
  )
})

test('every field of every kind is described', () => {
  const undescribed = (schema: unknown, path: string): string[] => {
    if (typeof schema !== 'object' || schema === null) return []
    const properties =
      'properties' in schema && typeof schema.properties === 'object' ? Object.entries(schema.properties ?? {}) : []
    const items = 'items' in schema && schema.items ? undescribed(schema.items, `${path}[]`) : []
    const own = properties.flatMap(([name, inner]) => {
      const said = typeof inner === 'object' && inner !== null && 'description' in inner && inner.description !== ''
      return [...(said ? [] : [`${path}.${name}`]), ...undescribed(inner, `${path}.${name}`)]
    })
    return [...items, ...own]
  }
  assert.deepEqual(
    kinds.flatMap((kind) => [...undescribed(kind.spec, `${kind.kind}.spec`), ...undescribed(kind.status, `${kind.kind}.status`)]),
    [],
  )
})
