/**
 * The contract for data planes as whoever makes requests sees it: what the templates of a DataPlane make, and what a report means.
 * The same code as the controllers', without a server: for programs that play NSO's part.
 */
import type { DataPlane } from '@nso/api'
import { type CelScope, celScope } from './cel.ts'
import type { Rendered } from './patch.ts'
import { compileSpec, groupOf, isAllowed } from './plane.ts'
import { translateReport } from './report.ts'
import { type Template, TemplateError } from './template.ts'
import type { CompiledPlane, KindRef, PlaneReport } from './types.ts'

export type ContractView = {
  readonly attachmentKind: KindRef
  readonly networkKind: KindRef | undefined
  /** Types of the attachment's conditions that are read; `programmed` is absent where the plane does not say. */
  readonly conditions: { readonly prepared: string; readonly programmed: string | undefined }
  /** Whether the report has an expression for a value. */
  readonly reports: { readonly vpc: boolean; readonly podNetwork: boolean }
  /** Why the DataPlane would not be accepted, for people; empty when its templates are sound. */
  readonly problems: readonly string[]
  /** Throw TemplateError with a message for people. `renderNetwork` answers undefined where the plane has no object for networks. */
  renderAttachment(scope: Parameters<CompiledPlane['renderAttachment']>[0]): Rendered
  renderNetwork(scope: Parameters<CompiledPlane['renderNetwork']>[0]): Rendered | undefined
  /** As `CompiledPlane.translate`, of an attachment whose kind is served. */
  translate(given: Parameters<CompiledPlane['translate']>[0]): PlaneReport
}

/** Pure. */
export function contractView(dataPlane: Pick<DataPlane, 'metadata' | 'spec'>): ContractView {
  const compiled = compileSpec(dataPlane.spec)
  const { attachment, network, preparedCondition, programmedCondition } = compiled
  const refOf = ({ apiVersion, kind }: KindRef): KindRef => ({ apiVersion, kind })
  const source = {
    ...{ plane: dataPlane.metadata.name, apiGroup: groupOf(attachment.apiVersion), preparedCondition, programmedCondition },
    ...refOf(attachment),
  }
  return {
    attachmentKind: refOf(attachment),
    networkKind: network && refOf(network),
    conditions: { prepared: preparedCondition, programmed: programmedCondition },
    reports: { vpc: dataPlane.spec.report?.vpc !== undefined, podNetwork: dataPlane.spec.report?.podNetwork !== undefined },
    problems: [
      ...compiled.errors.map(({ message }) => message),
      ...[attachment, ...(network ? [network] : [])]
        .filter((part) => !isAllowed(part))
        .map(({ kind, apiVersion }) => `kind ${kind} (${apiVersion}) is not allowed`),
    ],
    renderAttachment: (scope) => attachment.render(scope.interface, celScope(scope)),
    renderNetwork: (scope) => network?.render(scope.context, celScope(scope)),
    translate({ interface: nic, attachment: stored, scope }) {
      const cel = celScope({ ...scope, interface: nic, attachment: stored })
      return translateReport({
        ...{ source, interface: nic, attachment: stored, served: true },
        vpc: stored && reportedValue(compiled.vpc, cel),
        podNetwork: stored && reportedValue(compiled.podNetwork, cel),
      })
    },
  }
}

/** A report template that fails on what this attachment holds reports nothing: the conditions still stand. */
function reportedValue(template: Template, scope: CelScope): unknown {
  try {
    return template(scope)
  } catch (error) {
    if (error instanceof TemplateError) return undefined
    throw error
  }
}
