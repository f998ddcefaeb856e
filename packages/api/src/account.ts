/** The identity that NSO runs as. */
export const nsoAccount = { namespace: 'nso-system', name: 'nso' } as const
