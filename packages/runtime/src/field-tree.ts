/** Sets of fields as the server records them (fieldsV1 of structured-merge-diff): trees whose keys are field names and list items. */
export type FieldTree = { readonly [key: string]: FieldTree }

/** Keys from the root: `f:name`, `k:{"type":"Ready"}`, `v:"value"`. */
export type FieldPath = readonly string[]

/** Stands for the node itself beside its children. */
export const itself = '.'

export function isTree(value: unknown): value is FieldTree {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Owns neither a child nor more than the node itself: what a map or list is when all its children went. */
export function isBare(tree: FieldTree): boolean {
  return Object.keys(tree).every((key) => key === itself)
}

const isLeaf = (tree: FieldTree): boolean => Object.keys(tree).length === 0

/** A leaf is the node itself, and stays so beside the other's children. */
function unionOfNodes(a: FieldTree, b: FieldTree): FieldTree {
  const both = union(a, b)
  return isLeaf(a) === isLeaf(b) ? both : { [itself]: {}, ...both }
}

export function union(a: FieldTree, b: FieldTree): FieldTree {
  const result: Record<string, FieldTree> = { ...a }
  for (const [key, child] of Object.entries(b)) {
    const standing = result[key]
    result[key] = standing === undefined ? child : unionOfNodes(standing, child)
  }
  return result
}

/** The tree of one path with `leaf` at its end. */
export function treeAt(path: FieldPath, leaf: FieldTree): FieldTree {
  return path.reduceRight<FieldTree>((inner, key) => ({ [key]: inner }), leaf)
}

export function nodeAt(tree: FieldTree, path: FieldPath): FieldTree | undefined {
  return path.reduce<FieldTree | undefined>((node, key) => node?.[key], tree)
}

/** The tree without the path. Nodes above it that own nothing else any more go too, up to and with the root's child. */
export function without(tree: FieldTree, path: FieldPath): FieldTree {
  const [key, ...below] = path
  const child = key === undefined ? undefined : tree[key]
  if (key === undefined || child === undefined) return tree
  const { [key]: _, ...others } = tree
  if (below.length === 0) return others
  const left = without(child, below)
  return isBare(left) ? others : { ...tree, [key]: left }
}

/** Paths of all nodes that own something, for people and for comparisons: `status.conditions[Ready].reason`. */
export function pathsIn(tree: FieldTree): FieldPath[] {
  return Object.entries(tree).flatMap(([key, child]) => {
    if (key === itself) return []
    const below = pathsIn(child).map((path) => [key, ...path])
    return below.length === 0 || itself in child ? [[key], ...below] : below
  })
}
