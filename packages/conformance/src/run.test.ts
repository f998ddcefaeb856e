/** What is said before the first case, and never blamed on the data plane. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Transport } from 'kube-control-loop'
import { NothingTried, type PlaneUnderTest, runConformance } from './index.ts'

const metadata = { name: 'mine' }
const attachment = { apiVersion: 'mine.example.dev/v1', kind: 'Line', spec: {} }
const report = { prepared: { condition: 'Ready' } }

const planes: { says: string; spec: unknown; want: RegExp }[] = [
  { says: 'nothing', spec: undefined, want: /lacks spec\.attachment\.apiVersion, spec\.attachment\.kind, spec\.report/ },
  { says: 'no kind', spec: { attachment: { apiVersion: 'a/v1' }, report }, want: /lacks spec\.attachment\.kind\.$/ },
  { says: 'no condition', spec: { attachment, report: { prepared: null } }, want: /lacks spec\.report\.prepared\.condition\.$/ },
  { says: 'a report that is a text', spec: { attachment, report: 'Ready' }, want: /lacks spec\.report\.prepared\.condition\.$/ },
]
for (const { says, spec, want } of planes) {
  test(`a DataPlane that says ${says} is not tried`, async () => {
    const dataPlane = { apiVersion: 'networking.datumapis.com/v1alpha', kind: 'DataPlane', metadata, spec }
    const plane: PlaneUnderTest = { name: 'mine', version: '1', dataPlane, detachGraceMs: 1 }
    const none = {} as Transport
    await assert.rejects(runConformance(plane, { transport: none }), (error) => {
      assert.ok(error instanceof NothingTried)
      assert.match(error.message, want)
      return true
    })
  })
}
