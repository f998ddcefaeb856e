import assert from 'node:assert/strict'
import { test } from 'node:test'
import { plain } from '../tree.ts'
import { answerOwners } from './run.ts'
import { ownerLines, renderOwners } from './show.ts'
import { rowOf, rows } from './table.ts'

test('a documented path has its writer, component, identity and whether others are refused', () => {
  const row = rowOf({ apiVersion: 'networking.datumapis.com/v1', kind: 'NetworkInterface' })
  assert.ok(row)
  const lines = ownerLines([row])
  const at = (path: string) => {
    const { when: _, ...line } = lines.find((each) => each.path === path) ?? { when: '' }
    return line
  }
  const kind = { apiGroup: 'networking.datumapis.com', kind: 'NetworkInterface' }
  assert.deepEqual(at('status.conditions/Prepared'), {
    ...{ ...kind, path: 'status.conditions/Prepared', writer: 'nso-networkinterface', component: 'NSO' },
    ...{ identity: 'system:serviceaccount:nso-system:nso', enforced: true },
  })
  const holder = 'status.conditions/HolderAvailable'
  assert.deepEqual(at(holder), { ...kind, path: holder, writer: 'holder', identity: 'holder', enforced: true })
})

test('every path of all tables is in the text, reserved ones as nobody’s, those that are left alone as others’, open ones marked', () => {
  const lines = ownerLines(rows)
  const text = renderOwners(lines, plain).join('\n')
  for (const { path } of lines) assert.ok(text.includes(`  ${path} `), path)
  assert.match(text, / {2}status\.podName +nobody +never: only the node knows the pod/)
  assert.match(text, /\nBridgeAttachment\.bridge\.datumapis\.com\n(.+\n)* {2}status\.bridge +bridge-attachment \(Bridge\) /)
  assert.match(text, / {2}metadata\.ownerReferences +others \* +the requester’s: /)
  assert.match(text, /\nVPC\.cloud\.datumapis\.com\n(.+\n)* {2}spec +the requester \* +at creation/)
})

test('one kind, by any of its names; a typo is answered with those there are', async () => {
  const flags = { check: false, output: 'json' } as const
  for (const name of ['nad', 'net-attach-def', 'network-attachment-definitions', 'NetworkAttachmentDefinition']) {
    const { text, status } = await answerOwners(name, flags)
    assert.deepEqual(
      new Set((JSON.parse(text) as { kind: string }[]).map(({ kind }) => kind)),
      new Set(['NetworkAttachmentDefinition']),
    )
    assert.equal(status, 0)
  }
  await assert.rejects(answerOwners('pods', flags), { name: 'Explained', message: /no kind "pods" here; there are: .*vpcs/ })
})
