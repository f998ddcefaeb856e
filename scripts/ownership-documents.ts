/** What the page about ownership is made of, for each application. */
import {
  annotations,
  finalizers,
  labels,
  conditionsByKind as nsoConditions,
  kinds as nsoKinds,
  ownership as nsoOwnership,
  reasonTexts as nsoReasons,
} from '@nso/api'
import {
  annotations as galacticAnnotations,
  conditionsByKind as galacticConditions,
  finalizer as galacticFinalizer,
  labels as galacticLabels,
  ownership as galacticOwnership,
  reasonTexts as galacticReasons,
} from 'galactic/api'
import { kinds as galacticKinds, localKinds } from 'galactic/manifests'
import {
  conditionsByKind as bridgeConditions,
  finalizer as bridgeFinalizer,
  labels as bridgeLabels,
  ownership as bridgeOwnership,
  reasonTexts as bridgeReasons,
} from 'kube-bridge/api'
import { kinds as bridgeKinds, localKinds as multusKinds } from 'kube-bridge/manifests'
import type { Application } from './ownership-page.ts'

/** A label of ClusterRoles, which are of no kind here. */
const { aggregateToNso: _, ...objectLabels } = labels

export const applications: readonly Application[] = [
  {
    title: 'NSO',
    source: 'packages/api/src/ownership.ts',
    table: nsoOwnership,
    kinds: nsoKinds,
    conditions: nsoConditions,
    reasons: nsoReasons,
    names: [...Object.values(finalizers), ...Object.values(annotations), ...Object.values(objectLabels)],
    identities: {
      nso: { who: 'NSO’s controllers: service account nso-system/nso', isEnforced: true },
      holder: { who: 'the system that runs the workloads which hold interfaces; named at installation', isEnforced: true },
      creator: { who: 'whoever makes the object', isEnforced: false },
      user: { who: 'whoever may write networks', isEnforced: false },
      administrator: { who: 'whoever runs the cluster', isEnforced: false },
    },
  },
  {
    title: 'Galactic',
    source: 'packages/galactic/src/api/ownership.ts',
    table: galacticOwnership,
    kinds: [...galacticKinds, ...localKinds],
    conditions: galacticConditions,
    reasons: galacticReasons,
    names: [galacticFinalizer, ...Object.values(galacticLabels), ...Object.values(galacticAnnotations)],
    identities: {
      galactic: { who: 'Galactic’s controllers: service account galactic-system/galactic', isEnforced: true },
      requester: { who: 'whoever asks for networks and attachments: NSO, or a person', isEnforced: false },
      node: { who: 'the CNI plugin of a node', isEnforced: false },
      router: { who: 'the router of a node', isEnforced: false },
      administrator: { who: 'whoever runs the cluster', isEnforced: false },
    },
  },
  {
    title: 'Bridge',
    source: 'packages/bridge/src/api/ownership.ts',
    table: bridgeOwnership,
    kinds: [...bridgeKinds, ...multusKinds],
    conditions: bridgeConditions,
    reasons: bridgeReasons,
    names: [bridgeFinalizer, ...Object.values(bridgeLabels)],
    identities: {
      bridge: { who: 'the bridge controllers: service account bridge-system/bridge', isEnforced: true },
      requester: { who: 'whoever asks for networks and attachments: NSO, or a person', isEnforced: false },
    },
  },
]
