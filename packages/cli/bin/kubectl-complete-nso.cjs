#!/usr/bin/env node
'use strict'
// Installed as `kubectl_complete-nso`: kubectl runs it to complete `kubectl nso …`.
const { main } = require('../../../scripts/bootstrap.cjs')

main(['packages/cli/src/main.ts', '__complete', ...process.argv.slice(2)])
