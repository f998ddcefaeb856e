/** The identity that Galactic runs as. */
export const galacticAccount = { namespace: 'galactic-system', name: 'galactic' } as const
