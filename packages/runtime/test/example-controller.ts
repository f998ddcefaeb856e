import {
  type Condition,
  createAccessSource,
  createHttpTransport,
  createManager,
  createStatusWriter,
  type Kind,
  settled,
  systemClock,
  watch,
} from 'kube-control-loop'

type Spec = { size: number }
type Status = { doubled?: number; conditions?: Condition[] }
const Widget: Kind<Spec, Status> = { group: 'example.dev', version: 'v1', kind: 'Widget', plural: 'widgets', scope: 'Namespaced' }
const owner = { writer: 'widget', identity: 'widget', owns: ['doubled', 'conditions/Ready'], when: 'the size changes' } as const

/** Keeps `status.doubled` of each widget of a namespace at twice its size. */
export function widgetManager(options: { kubeconfig: string; identity: string; namespace: string }) {
  const access = createAccessSource({ clock: systemClock, kubeconfig: options.kubeconfig })
  const transport = createHttpTransport({ access, clock: systemClock, userAgent: options.identity })
  const common = { name: 'widget', metricPrefix: 'widget_', eventController: 'example.dev/widget', server: { port: 0 } }
  const lease = { namespace: options.namespace, name: 'widget' }
  const manager = createManager({ ...common, transport, identity: options.identity, lease })
  const widgets = manager.cache(Widget, { namespace: options.namespace })
  const writer = createStatusWriter({ ...manager.writers, kind: Widget, controller: 'widget', owner, cache: widgets })
  manager.add({
    name: 'widget',
    watches: [watch(widgets, ({ key }) => [key])],
    needs: [{ cache: widgets }],
    async reconcile({ key, signal }) {
      const widget = widgets.get(key)
      if (!widget || widget.metadata.deletionTimestamp) return settled
      const observedGeneration = widget.metadata.generation ?? 0
      const ready = { type: 'Ready', status: 'True', reason: 'Doubled', message: 'Twice the size', observedGeneration } as const
      await writer.status(widget, { doubled: 2 * widget.spec.size, conditions: [ready] }, signal)
      return settled
    },
    forget: writer.forget,
  })
  return manager
}
