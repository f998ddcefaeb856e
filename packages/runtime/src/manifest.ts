/** Objects to install, as plain data, and the files they are kept in. */

export type Manifest = {
  apiVersion: string
  kind: string
  metadata: { name: string; namespace?: string; labels?: Record<string, string>; annotations?: Record<string, string> }
  [field: string]: unknown
}

/** One generated file; `path` is relative to the folder of the application, `about` what its reader must know, in lines. */
export type ManifestFile = {
  readonly path: string
  readonly objects: readonly Manifest[]
  readonly about?: readonly string[]
}
