import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compileProgress, downloadProgress, type Progress } from './build-progress.ts'

function saidBy(progress: Progress, lines: string[]): string[] {
  return lines.flatMap((line) => progress.saw(line) ?? [])
}

test('modules are counted as they arrive, other lines are not', () => {
  const lines = Array.from({ length: 5 }, (_, n) => ['go: finding module', `go: downloading example.dev/m${n} v1.0.0`]).flat()
  assert.deepEqual(saidBy(downloadProgress(180, 2), lines), [
    'downloaded 1 of up to 180 modules',
    'downloaded 3 of up to 180 modules',
    'downloaded 5 of up to 180 modules',
  ])
})

test('packages are counted as they are compiled', () => {
  const lines = [
    'internal/abi',
    '# a comment',
    'k8s.io/api/core/v1',
    'errors',
    './main.go:3: a complaint',
    'vendor/golang.org/x/net/http2',
  ]
  assert.deepEqual(saidBy(compileProgress(2693, 2), lines), [
    'compiled 2 of up to 2693 packages',
    'compiled 4 of up to 2693 packages',
  ])
})
