/** The process of the stand-in. */
export {}
