#!/usr/bin/env node
'use strict'
// The `nso` command on whatever Node the host has: hands over to the pinned one, by way of the same pre-step as `npm start`.
const { spawnSync } = require('node:child_process')
const path = require('node:path')

const bootstrap = path.resolve(__dirname, '..', '..', '..', 'scripts', 'bootstrap.cjs')
process.on('SIGINT', () => {})
const { status, error } = spawnSync(process.execPath, [bootstrap, 'packages/cli/src/main.ts', ...process.argv.slice(2)], {
  stdio: 'inherit',
})
if (error) console.error(error.message)
process.exit(status ?? 1)
