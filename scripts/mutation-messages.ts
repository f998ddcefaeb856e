/**
 * A plugin of Stryker: leaves alone what only people read, the arguments of errors and of log lines, and the names of error
 * classes. Other strings are reasons, causes, labels and paths: they are mutated.
 */

type Node = {
  readonly type: string
  readonly callee?: Node
  readonly name?: string
  readonly key?: Node
  readonly property?: Node
}
type NodePath = { readonly node: Node; readonly parentPath: NodePath | null; readonly listKey?: string }

const levels = new Set(['debug', 'info', 'warn', 'error'])
const texts = new Set(['StringLiteral', 'TemplateLiteral'])

function isForPeople({ type, callee }: Node): boolean {
  if (type === 'NewExpression') return /Error$|^BadStatusIntent$/.test(callee?.name ?? '')
  if (!type.endsWith('CallExpression')) return false
  if (callee?.type === 'Super') return true
  return callee?.type.endsWith('MemberExpression') === true && levels.has(callee.property?.name ?? '')
}

function shouldIgnore(path: NodePath): string | undefined {
  if (!texts.has(path.node.type)) return undefined
  const parent = path.parentPath
  if (path.listKey === 'arguments' && parent && isForPeople(parent.node)) return 'a text for people'
  return undefined
}

export const strykerPlugins = [{ kind: 'Ignore', name: 'messages', value: { shouldIgnore } }]
