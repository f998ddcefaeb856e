/** For tests: a home directory and a `go` that does what the test says. */
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

type Context = { after(call: () => unknown): void }

/** A home directory and a `go` that notes each build, waits as long as a file says so, and writes one program, or one for each target. */
export async function home(t: Context, options: { go?: string } = {}) {
  const dir = await mkdtemp(join(tmpdir(), 'ensure-'))
  t.after(() => rm(dir, { recursive: true, force: true }))
  const bin = join(dir, 'bin')
  await mkdir(bin)
  const builds = join(dir, 'builds')
  const hold = join(dir, 'hold')
  const script = `#!/bin/sh
program() { printf '#!/bin/sh\\n' >"$1"; chmod +x "$1"; }
case "$1" in
version) echo "go version go9.9.9 test/one" ;;
env) echo "${dir}/go-build"; echo "${dir}/mod" ;;
list) echo 'go: downloading example.dev/one v1.0.0' >&2; printf 'a\\nb\\nc\\n' ;;
build) echo $$ >>"${builds}"; ${options.go ?? ''}
  while [ -e "${hold}" ]; do sleep 0.05; done
  while [ "$1" != -o ]; do shift; done
  echo 'example.dev/one' >&2; output=$2; shift 2
  case "$output" in */) for each; do program "$output\${each##*/}"; done ;; *) program "$output" ;; esac ;;
esac
`
  await writeFile(join(bin, 'go'), script)
  await chmod(join(bin, 'go'), 0o755)
  const env = { HOME: dir, PATH: `${bin}:/usr/bin:/bin` }
  const buildsSeen = async () => (await readFile(builds, 'utf8').catch(() => '')).split('\n').filter(Boolean)
  return { dir, env, hold, buildsSeen, cache: join(dir, '.cache', 'kube-localplane') }
}
