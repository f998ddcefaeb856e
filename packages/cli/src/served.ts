/** What a server can, asked of its discovery. */
import type { ApiConnection } from 'kube-localplane'

/** Whether it serves a kind of admission policy in version 1, by its plural. False where it does not know the group at all. */
export async function servesAdmission(connection: ApiConnection, plural: string): Promise<boolean> {
  const { body } = await connection.request({ path: '/apis/admissionregistration.k8s.io/v1' })
  const resources = (body as { resources?: { name: string }[] } | undefined)?.resources ?? []
  return resources.some(({ name }) => name === plural)
}
