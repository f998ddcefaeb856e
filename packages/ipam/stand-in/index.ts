/** A stand-in for the address service: what `npm start -- --addresses ipam` and tests run in its place. */
export {}
