/** The identity that the bridge controllers run as. */
export const bridgeAccount = { namespace: 'bridge-system', name: 'bridge' } as const
