import {
  anything,
  conditions,
  defineKind,
  freeObject,
  list,
  type ObjectOf,
  oneOf,
  optional,
  record,
  seeded,
  text,
} from 'kube-control-loop'
import { addressFamily, age, attachmentModes, conditionColumn, group, version } from './group.ts'

/** Versions of the contract for data planes (docs/contracts/data-plane.md) that this release follows, oldest first. */
export const contractVersions = ['v1'] as const

/** Kinds that no template may make: writing them for whoever may write a DataPlane would lend out NSO's own power. */
const allowedKind = [
  { rule: "self.apiVersion.contains('/')", message: 'core kinds cannot be made from templates' },
  {
    rule: "!(self.apiVersion.split('/')[0] in ['networking.datumapis.com', 'k8s.cni.cncf.io', 'rbac.authorization.k8s.io', 'admissionregistration.k8s.io'])",
    message:
      'kinds of networking.datumapis.com, k8s.cni.cncf.io, rbac.authorization.k8s.io and admissionregistration.k8s.io cannot be made from templates',
  },
  {
    rule: "!self.apiVersion.contains('/') || (self.apiVersion.split('/')[0].contains('.') && !self.apiVersion.split('/')[0].endsWith('.k8s.io'))",
    message: 'kinds of Kubernetes itself cannot be made from templates',
  },
]

const apiVersion = text({
  description: 'Group and version of the kind.',
  minLength: 3,
  maxLength: 317,
  pattern: '^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(/v[0-9]+((alpha|beta)[0-9]*)?)?$',
})
const kind = text({
  description: 'The kind. It must be namespaced.',
  minLength: 1,
  maxLength: 63,
  pattern: '^[A-Z][A-Za-z0-9]*$',
})

const template = (description: string) =>
  record(
    {
      apiVersion,
      kind,
      metadata: optional(
        record(
          {
            labels: optional(anything({ description: 'Labels: a map, or one expression that yields it.' })),
            annotations: optional(anything({ description: 'Annotations: a map, or one expression that yields it.' })),
            finalizers: optional(
              list(text({ minLength: 1, maxLength: 317 }), {
                description: 'Finalizers that the object is made with: those of the data plane.',
                maxItems: 8,
              }),
            ),
          },
          { description: 'Name, namespace and owner are given; the rest may be said here.' },
        ),
      ),
      spec: freeObject({ description: 'The body. Text may hold CEL expressions, written as a dollar sign and braces.' }),
    },
    { description, rules: allowedKind },
  )

const conditionName = (description: string) =>
  record({ condition: text({ description: 'Type of the condition.', minLength: 1, maxLength: 316 }) }, { description })

const expression = (description: string) => optional(text({ description, minLength: 1, maxLength: 4096 }))

/** What its attachments were made of must stay readable and removable, so neither kind moves; versions may. */
const sameKind = (part: string) =>
  `self.${part}.kind == oldSelf.${part}.kind && self.${part}.apiVersion.split('/')[0] == oldSelf.${part}.apiVersion.split('/')[0]`
const kindsStay = [
  { rule: sameKind('attachment'), message: 'group and kind of spec.attachment cannot be changed; make another DataPlane' },
  {
    rule: `!has(oldSelf.network) || (has(self.network) && ${sameKind('network')})`,
    message: 'group and kind of spec.network cannot be changed or removed; make another DataPlane',
  },
]
const saysWhatItReports = {
  rule: "!has(self.capabilities) || !has(self.capabilities.programmed) || (self.capabilities.programmed == 'Reported') == has(self.report.programmed)",
  message: 'spec.capabilities.programmed must be Reported exactly when spec.report.programmed names a condition',
}

/** How interfaces are realised in some locations: what to make for them and how to read the answer. */
export const DataPlane = defineKind({
  group,
  version,
  kind: 'DataPlane',
  plural: 'dataplanes',
  scope: 'Cluster',
  description: 'A data plane: the objects that realise networks and interfaces there, and how its report is read.',
  columns: [
    { name: 'Locations', type: 'string', jsonPath: '.spec.locations' },
    { name: 'Attachment', type: 'string', jsonPath: '.spec.attachment.kind' },
    { name: 'Contract', type: 'string', jsonPath: '.spec.contract', priority: 1 },
    conditionColumn('Accepted', 'Accepted'),
    conditionColumn('Installed', 'Installed'),
    conditionColumn('Permitted', 'Permitted'),
    age,
  ],
  spec: record(
    {
      contract: text({
        description: 'Version of the contract for data planes that this one follows.',
        minLength: 2,
        maxLength: 8,
        pattern: '^v[1-9][0-9]*$',
        default: contractVersions[0],
      }),
      locations: list(
        text({
          minLength: 1,
          maxLength: 254,
          pattern: '^(\\*|[a-z0-9]([a-z0-9.-]*[a-z0-9])?|[a-z0-9]([a-z0-9.-]*)?\\*)$',
        }),
        {
          description:
            'Locations that it serves: a name, a prefix followed by *, or *. The most specific data plane serves a location.',
          minItems: 1,
          maxItems: 64,
        },
      ),
      capabilities: optional(
        record(
          {
            attachmentModes: optional(
              list(oneOf(attachmentModes, { description: 'A mode.' }), {
                description: 'Attachment modes that it offers. Absent: all.',
                minItems: 1,
                maxItems: attachmentModes.length,
                'x-kubernetes-list-type': 'set',
              }),
            ),
            addressFamilies: optional(
              list(addressFamily('A family.'), {
                description: 'Address families that it carries. Absent: all.',
                minItems: 1,
                maxItems: 2,
                'x-kubernetes-list-type': 'set',
              }),
            ),
            programmed: optional(
              oneOf(['Reported', 'NotReported'], {
                description: 'Whether it reports that traffic flows. Absent: as spec.report says.',
              }),
            ),
          },
          { description: 'What it can do. Claims that ask for more are rejected before anything is made for them.' },
        ),
      ),
      network: optional(template('One object for each network context.')),
      attachment: template('One object for each bound interface.'),
      report: record(
        {
          prepared: conditionName('Condition of the attachment that says: a workload may start.'),
          programmed: optional(
            conditionName('Condition of the attachment that says: traffic flows. Absent: the data plane does not say.'),
          ),
          vpc: expression('Expression that yields the identifier of the network.'),
          podNetwork: expression('Expression that yields the name of the network definition that pods name.'),
        },
        { description: 'How the state of an attachment is read.' },
      ),
    },
    {
      description: 'What to make for networks and interfaces, and how to read the report.',
      rules: [...kindsStay, saysWhatItReports],
    },
  ),
  status: record(
    {
      conditions: optional(
        conditions('Accepted: the templates are sound. Installed: the kinds are served. Permitted: NSO may write them.'),
      ),
    },
    { description: 'What is known of the data plane.', default: seeded('Accepted', 'Installed', 'Permitted') },
  ),
})
export type DataPlane = ObjectOf<typeof DataPlane>
