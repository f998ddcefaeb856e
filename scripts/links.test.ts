/** Every page's links lead to files and headings that are there, and the paths that it names are those of the repository. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { glob, readFile } from 'node:fs/promises'
import path from 'node:path'
import { test } from 'node:test'

const root = path.resolve(import.meta.dirname, '..')
const pages = new Map<string, string>()
for await (const file of glob('**/*.md', { cwd: root, exclude: (name) => name === 'node_modules' || name.startsWith('.') })) {
  pages.set(file, await readFile(path.join(root, file), 'utf8'))
}

/** As GitHub names headings. */
const anchorOf = (heading: string) =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M}\- _]/gu, '')
    .trim()
    .replaceAll(' ', '-')

function anchorsOf(page: string): Set<string> {
  const headings = [...page.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => anchorOf(heading))
  return new Set([...headings, ...[...page.matchAll(/ id="([^"]+)"/g)].map(([, id = '']) => id)])
}

const prose = (page: string) => page.replaceAll(/^```.*?^```$/gms, '')

function brokenIn(file: string, page: string): string[] {
  const links = [...prose(page).matchAll(/\]\((?!https?:)(?<to>[^)\s]+)\)/g)].map(({ groups }) => groups?.to ?? '')
  return links.filter((to) => {
    const [at = '', anchor] = to.split('#')
    const target = at === '' ? file : path.join(path.dirname(file), at)
    if (!existsSync(path.join(root, target))) return true
    const of = pages.get(path.normalize(target))
    return anchor !== undefined && of !== undefined && !anchorsOf(of).has(anchor)
  })
}

test('every link of every page leads somewhere', () => {
  assert.ok(pages.size > 20)
  const broken = [...pages].flatMap(([file, page]) => brokenIn(file, page).map((to) => `${file}: ${to}`))
  assert.deepEqual(broken, [])
})

test('every path of the repository that a page names is there', () => {
  const paths = /`((?:bench|config|deploy|docs|e2e|examples|packages|scripts)\/[\w./@-]+)`/g
  const named = [...pages].flatMap(([file, page]) => [...prose(page).matchAll(paths)].map(([, at = '']) => ({ file, at })))
  assert.ok(named.length > 20)
  const missing = named.filter(({ at }) => !existsSync(path.join(root, at)))
  assert.deepEqual(missing, [])
})
