/** A kind of these tests' own and clients for it, on the real API server. */
import {
  type Client,
  type Condition,
  createAccessSource,
  createClient,
  createHttpTransport,
  type Kind,
  type KubeObject,
  systemClock,
  type Transport,
} from 'kube-control-loop'

export type WidgetSpec = { size: number; color?: string }
export type WidgetStatus = { doubled?: number; conditions?: Condition[] }
export type Widget = KubeObject<WidgetSpec, WidgetStatus>

export const Widget: Kind<WidgetSpec, WidgetStatus> = {
  group: 'example.dev',
  version: 'v1',
  kind: 'Widget',
  plural: 'widgets',
  scope: 'Namespaced',
}

export const widgetCrd = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.example.dev' },
  spec: {
    group: 'example.dev',
    scope: 'Namespaced',
    names: { kind: 'Widget', listKind: 'WidgetList', plural: 'widgets', singular: 'widget' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: { type: 'object', properties: { size: { type: 'integer' }, color: { type: 'string' } } },
              status: {
                type: 'object',
                properties: {
                  doubled: { type: 'integer' },
                  conditions: {
                    type: 'array',
                    items: {
                      type: 'object',
                      'x-kubernetes-preserve-unknown-fields': true,
                      properties: { type: { type: 'string' } },
                      required: ['type'],
                    },
                    'x-kubernetes-list-type': 'map',
                    'x-kubernetes-list-map-keys': ['type'],
                  },
                },
              },
            },
          },
        },
      },
    ],
  },
}

export function widget(namespace: string, name: string, spec: WidgetSpec = { size: 1 }): Widget {
  return { apiVersion: 'example.dev/v1', kind: 'Widget', metadata: { name, namespace }, spec }
}

export function openTransport(kubeconfig: string, userAgent: string): Transport {
  return createHttpTransport({ access: createAccessSource({ clock: systemClock, kubeconfig }), clock: systemClock, userAgent })
}

export function openClient(transport: Transport): Client {
  return createClient(transport, { clock: systemClock, jitter: Math.random })
}

/** Runs in the background until disposed, and waits for its end then. */
export function background(run: (signal: AbortSignal) => Promise<void>): AsyncDisposable & { stop(): Promise<void> } {
  const end = new AbortController()
  const running = run(end.signal)
  const stop = async () => {
    end.abort(new Error('the test is over'))
    await running
  }
  return { stop, [Symbol.asyncDispose]: stop }
}
