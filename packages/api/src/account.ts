/** The identity that NSO runs as. */
export const nsoAccount = { namespace: 'nso-system', name: 'nso' } as const

/** What it is at the API server of an address service, with no rights but on addresses: that may be a cluster of somebody else. */
export const nsoIpamAccount = { namespace: 'nso-system', name: 'nso-ipam' } as const
