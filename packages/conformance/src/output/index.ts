import { junit } from './junit.ts'
import type { Printer } from './printer.ts'
import { tap } from './tap.ts'
import { text } from './text.ts'

export type { Printer } from './printer.ts'

export const printers = { tap, junit, text } as const satisfies Record<string, Printer>
export type OutputFormat = keyof typeof printers
export const outputFormats = Object.keys(printers) as readonly OutputFormat[]
