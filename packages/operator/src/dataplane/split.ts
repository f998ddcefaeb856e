/**
 * Cuts a template string into text and `${…}` expressions. The end of an expression is found as the CEL lexer would:
 * braces nest, and braces inside string literals and comments do not count (CEL language definition, "Lexis").
 */

export type Piece =
  | { kind: 'text'; text: string }
  /** `at` is the offset of the expression's first character in the whole string. */
  | { kind: 'expression'; source: string; at: number }

/** The string is no template: `at` is the offset of what is wrong. */
export class SplitError extends Error {
  override readonly name = 'SplitError'
  readonly code = 'TEMPLATE_SYNTAX'
  readonly at: number
  constructor(message: string, at: number) {
    super(message)
    this.at = at
  }
}

/** Throws SplitError for an expression that never ends or is empty. Adjacent pieces of text are one piece. */
export function split(template: string): readonly Piece[] {
  const pieces: Piece[] = []
  let from = 0
  while (from < template.length) {
    const open = template.indexOf('${', from)
    if (open < 0) break
    if (open > from) pieces.push({ kind: 'text', text: template.slice(from, open) })
    const at = open + 2
    const close = endOfExpression(template, at)
    const source = template.slice(at, close)
    if (source.trim() === '') throw new SplitError('the expression is empty', at)
    pieces.push({ kind: 'expression', source, at })
    from = close + 1
  }
  if (from < template.length) pieces.push({ kind: 'text', text: template.slice(from) })
  return pieces
}

/** Offset of the `}` that ends the expression starting at `at`. */
function endOfExpression(template: string, at: number): number {
  let depth = 0
  let position = at
  while (position < template.length) {
    const character = template.charAt(position)
    if (character === '"' || character === "'") {
      position = endOfString(template, position, isRaw(template, at, position))
    } else if (template.startsWith('//', position)) {
      position = endOfLine(template, position)
    } else {
      if (character === '}' && depth === 0) return position
      if (character === '{') depth += 1
      if (character === '}') depth -= 1
      position += 1
    }
  }
  throw new SplitError('the expression that begins here never ends: a } is missing', at)
}

/** Raw literals (`r"…"`, `rb"…"`, `bR'…'`) know no escapes: a backslash before the quote does not keep it open. */
function isRaw(template: string, from: number, quote: number): boolean {
  const prefix = /(?:^|[^A-Za-z0-9_])([rRbB]{1,2})$/.exec(template.slice(Math.max(from, quote - 3), quote))
  return prefix?.[1]?.toLowerCase().includes('r') === true
}

/** Offset behind the string literal that opens at `open`. */
function endOfString(template: string, open: number, raw: boolean): number {
  const quote = template.charAt(open)
  const triple = quote.repeat(3)
  const end = template.startsWith(triple, open) ? triple : quote
  let position = open + end.length
  while (position < template.length) {
    if (template.startsWith(end, position)) return position + end.length
    position += !raw && template.charAt(position) === '\\' ? 2 : 1
  }
  throw new SplitError('the string that begins here never ends', open)
}

function endOfLine(template: string, from: number): number {
  const end = template.indexOf('\n', from)
  return end < 0 ? template.length : end + 1
}
