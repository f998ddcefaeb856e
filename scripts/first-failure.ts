/** A test reporter for mutation runs: ends the process at the first test that fails; one is enough to kill a mutant. */

async function* firstFailure(events: AsyncIterable<{ type: string }>): AsyncGenerator<string, void, undefined> {
  for await (const { type } of events) {
    if (type === 'test:fail') process.exit(1)
    yield ''
  }
}

// biome-ignore lint/style/noDefaultExport: what node:test asks of a reporter
export { firstFailure as default }
