/** What a data plane makes for an attachment: the network definition that it names, and with Galactic the routes of a node. Pure. */
import type { DataPlane } from '@nso/api'
import { advertisementNames, defaultSettings as galacticSettings } from 'galactic'
import { BGPAdvertisement, VPCAttachment } from 'galactic/api'
import { apiVersionOf, type Kind, type KubeObject } from 'kube-control-loop'
import { NetworkAttachmentDefinition } from 'kube-multus'
import { textAt } from '../owners/stored.ts'
import { kindOf, sameKind } from './snapshot.ts'

/** Objects of one kind, under one or some of the names. */
export type Made = { kind: Kind; apiVersion: string; at: readonly { namespace: string; name: string }[] }

export function madeBy(attachment: KubeObject, plane: DataPlane | undefined): Made[] {
  const { namespace = '' } = attachment.metadata
  const isGalactic = sameKind(kindOf(attachment), VPCAttachment)
  const definition = definitionOf(attachment, plane) ?? (isGalactic ? attachment.metadata.name : undefined)
  const advertised = isGalactic ? advertisementsOf(attachment) : []
  return [
    ...(definition === undefined ? [] : [made(NetworkAttachmentDefinition, [{ namespace, name: definition }])]),
    ...(advertised.length > 0 ? [made(BGPAdvertisement, advertised)] : []),
  ]
}

const made = (kind: Kind, at: Made['at']): Made => ({ kind, apiVersion: apiVersionOf(kind), at })

/** By the DataPlane's expression for it where that is a plain path in the status, as it mostly is; else as the others name it. */
function definitionOf({ status }: KubeObject, plane: DataPlane | undefined): string | undefined {
  const expression = textAt(plane?.spec, 'report', 'podNetwork') ?? ''
  const path = /^\$\{\s*attachment\.status((?:\.\w+)+)\s*\}$/.exec(expression)?.[1]
  return path === undefined ? textAt(status, 'networkAttachmentDefinition') : textAt(status, ...path.slice(1).split('.'))
}

/** Where a node publishes an attachment of Galactic; none before it has its identity. */
function advertisementsOf({ status }: KubeObject): { namespace: string; name: string }[] {
  const [vpc, id] = [textAt(status, 'vpc'), textAt(status, 'vpcAttachment')]
  if (vpc === undefined || id === undefined) return []
  return advertisementNames({ vpc, attachment: id }).map((name) => ({ namespace: galacticSettings.systemNamespace, name }))
}
