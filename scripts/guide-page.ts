/** The files that docs/guides/write-a-data-plane.md shows, put in from where they are. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')
const shown = /(<!-- file: (\S+) -->\n\n```\w+\n)[\s\S]*?(```\n)/g

/** The page with each file that it names as it is now. */
export function guidePage(page: string): string {
  return page.replaceAll(
    shown,
    (_, before: string, path: string, end: string) => `${before}${readFileSync(join(root, path), 'utf8')}${end}`,
  )
}
