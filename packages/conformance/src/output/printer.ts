/** How a run is printed. */
import type { CaseResult, Results } from '../results.ts'

export type About = { readonly plane: string; readonly version: string; readonly contract: string }

/** Each answers whole lines. */
export type Printer = {
  begin(about: About, count: number): readonly string[]
  /** As a case ends; numbers count from 1. */
  result(result: CaseResult, number: number): readonly string[]
  end(results: Results): readonly string[]
  /** When it is broken off: no more results come. */
  bail(reason: string): readonly string[]
}
