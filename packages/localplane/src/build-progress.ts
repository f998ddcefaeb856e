/** Turns what `go` prints into a few lines that show how far a build is. */

export type Progress = { saw(line: string): string | undefined }

/** Lines of `go list` and `go build` while modules arrive: `go: downloading MODULE VERSION`. */
export function downloadProgress(total: number, every = 20): Progress {
  let count = 0
  return {
    saw(line) {
      if (!line.startsWith('go: downloading ')) return undefined
      count++
      return count % every === 1 ? `downloaded ${count} of up to ${total} modules` : undefined
    },
  }
}

/** Lines of `go build -v`: one import path for each package that is compiled now; packages in Go's cache are not named. */
export function compileProgress(total: number, every = 100): Progress {
  let count = 0
  return {
    saw(line) {
      if (!/^[\w.~-]+(\/[\w.~-]+)*$/.test(line)) return undefined
      count++
      return count % every === 0 ? `compiled ${count} of up to ${total} packages` : undefined
    },
  }
}
