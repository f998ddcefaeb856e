/** Preloaded in mutation runs: property tests try the same values each time, so that a mutant is never killed by luck. */
import fc from 'fast-check'

fc.configureGlobal({ seed: 20_300_101 })
