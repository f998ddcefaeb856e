/** Lines out of chunks that end anywhere, also inside a character: bytes are decoded only when a line is whole. */

const newline = 0x0a

/** Feeds chunks, answers the lines that each completes. What follows the last newline is kept, and lost when the stream ends. */
export function createLineSplitter(): (chunk: Uint8Array) => string[] {
  let held: Uint8Array[] = []
  return (chunk) => {
    const lines: string[] = []
    let from = 0
    for (let at = chunk.indexOf(newline); at >= 0; at = chunk.indexOf(newline, from)) {
      const piece = chunk.subarray(from, at)
      const line = held.length === 0 ? piece : Buffer.concat([...held, piece])
      held = []
      from = at + 1
      if (line.length > 0) lines.push(Buffer.from(line.buffer, line.byteOffset, line.byteLength).toString('utf8'))
    }
    if (from < chunk.length) held.push(chunk.subarray(from))
    return lines
  }
}
