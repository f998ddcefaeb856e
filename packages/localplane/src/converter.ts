/** A conversion webhook of a test, on loopback. Source: apiextensions.k8s.io/v1 ConversionReview. */
import { readFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { pkiFiles } from './certificates.ts'
import { planeFiles } from './server-flags.ts'

type Converted = { readonly [key: string]: unknown }

export type Converter = {
  /** For `spec.conversion` of a definition. */
  readonly conversion: object
  /** Conversions that were asked for. */
  readonly asked: number
  /** From now on: each object as `convert` makes it, or HTTP 500 to all. */
  behave(how: 'converts' | 'fails'): void
  [Symbol.asyncDispose](): Promise<void>
}

/** The server trusts it by the certificate that it serves with itself. `convert` gets the stored object, with its new version. */
export async function startConverter(
  { dir }: { dir: string },
  convert: (object: Converted) => Converted = (object) => object,
): Promise<Converter> {
  const file = (name: keyof typeof pkiFiles) => readFile(join(dir, planeFiles.pki, pkiFiles[name]))
  const [cert, key, authority] = await Promise.all([file('server'), file('serverKey'), file('authority')])
  let fails = false
  let asked = 0
  const server = createServer({ cert, key }, async (request, response) => {
    const body = await bodyOf(request)
    asked++
    response.statusCode = fails ? 500 : 200
    response.setHeader('content-type', 'application/json')
    response.end(fails ? 'out of order' : JSON.stringify(reviewed(JSON.parse(body), convert)))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const clientConfig = { url: `https://127.0.0.1:${port}/convert`, caBundle: authority.toString('base64') }
  return {
    conversion: { strategy: 'Webhook', webhook: { clientConfig, conversionReviewVersions: ['v1'] } },
    get asked() {
      return asked
    },
    behave(how) {
      fails = how === 'fails'
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = ''
  for await (const chunk of request.setEncoding('utf8')) body += chunk
  return body
}

type Review = { request: { uid: string; desiredAPIVersion: string; objects: Converted[] } }

function reviewed({ request }: Review, convert: (object: Converted) => Converted): object {
  const { uid, desiredAPIVersion, objects } = request
  const convertedObjects = objects.map((object) => convert({ ...object, apiVersion: desiredAPIVersion }))
  const response = { uid, result: { status: 'Success' }, convertedObjects }
  return { apiVersion: 'apiextensions.k8s.io/v1', kind: 'ConversionReview', response }
}
