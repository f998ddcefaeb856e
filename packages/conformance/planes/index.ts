/** The data planes of this repository, brought to the suite. */
export type { PlaneUnderTest } from '../src/plane-under-test.ts'
