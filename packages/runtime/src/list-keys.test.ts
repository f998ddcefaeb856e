import assert from 'node:assert/strict'
import { test } from 'node:test'
import { looseListKeys } from './list-keys.ts'
import type { Manifest } from './manifest.ts'

const crd = (list: object): Manifest => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'things' },
  spec: {
    versions: [
      {
        name: 'v1',
        schema: { openAPIV3Schema: { type: 'object', properties: { status: { type: 'object', properties: { list } } } } },
      },
    ],
  },
})

const keyed = (items: object, keys: string[] = ['type']) => ({
  type: 'array',
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': keys,
  items: { type: 'object', ...items },
})
const text = { type: 'string' }

const table: { says: string; list: object; want: string[] }[] = [
  { says: 'a key that every entry must have', list: keyed({ required: ['type'], properties: { type: text } }), want: [] },
  {
    says: 'a key that may be absent',
    list: keyed({ properties: { type: text } }),
    want: ['v1 .status.list[type]: not required'],
  },
  {
    says: 'a key with a default',
    list: keyed({ required: ['type'], properties: { type: { ...text, default: 'x' } } }),
    want: ['v1 .status.list[type]: has a default'],
  },
  {
    says: 'the second of two keys',
    list: keyed({ required: ['type'], properties: { type: text, port: { ...text, default: '1' } } }, ['type', 'port']),
    want: ['v1 .status.list[port]: has a default'],
  },
  {
    says: 'a list within an entry of a list',
    list: { type: 'array', items: { type: 'object', properties: { inner: keyed({ properties: { type: text } }) } } },
    want: ['v1 .status.list[].inner[type]: not required'],
  },
  { says: 'a list without keys', list: keyed({ properties: {} }, []), want: ['v1 .status.list: no key'] },
  { says: 'a list that is replaced as a whole', list: { type: 'array', items: text }, want: [] },
]

for (const { says, list, want } of table) test(says, () => assert.deepEqual(looseListKeys(crd(list)), want))
