#!/usr/bin/env node
'use strict'
// The `nso` command on whatever Node the host has: hands over to the pinned one, by way of the same pre-step as `npm start`.
const { main } = require('../../../scripts/bootstrap.cjs')

main(['packages/cli/src/main.ts', ...process.argv.slice(2)])
