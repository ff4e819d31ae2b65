/** What is wrong with a document for Kubernetes: its types, with unknown keys refused, and the rules of Pod Security `restricted`. */
import { join } from 'node:path'
import type { Job } from 'kubernetes-types/batch/v1.js'
import type { PodSpec } from 'kubernetes-types/core/v1.js'
import ts from 'typescript'
import { parseAllDocuments, stringify } from 'yaml'
import { projectRoot } from '../../test/support/root.js'

/** Where the type of each kind stands in the package that has them from the OpenAPI document of Kubernetes. */
const KINDS: Readonly<Record<string, string>> = {
  'batch/v1 Job': 'kubernetes-types/batch/v1.js',
  'networking.k8s.io/v1 NetworkPolicy': 'kubernetes-types/networking/v1.js',
}

export interface KubernetesDocument {
  readonly apiVersion: string
  readonly kind: string
}

export function documentsOf(text: string): KubernetesDocument[] {
  return parseAllDocuments(text).map(document => {
    const [problem] = [...document.errors, ...document.warnings]
    if (problem !== undefined) throw problem
    return document.toJS() as KubernetesDocument
  })
}

/** The pod of the first Job. */
export function podOf(text: string): PodSpec {
  const job = documentsOf(text).find(({ kind }) => kind === 'Job') as Job | undefined
  const pod = job?.spec?.template.spec
  if (pod === undefined) throw new Error('there is no Job with a pod')
  return pod
}

/** One line a problem, in the words of the type checker, which refuses keys that it does not know in what is written out. */
export function typeProblems(text: string): string[] {
  const lines = documentsOf(text).flatMap((document, index) => {
    const from = KINDS[`${document.apiVersion} ${document.kind}`]
    if (from === undefined) throw new Error(`no type is known here for ${document.apiVersion} ${document.kind}`)
    const name = `${document.kind}${index}`
    return [
      `import type { ${document.kind} as ${name} } from '${from}'`,
      `export const value${index}: ${name} = ${JSON.stringify(document)}`,
    ]
  })
  const file = join(projectRoot, 'kubernetes-documents.ts')
  const options = { strict: true, noEmit: true, skipLibCheck: true, moduleResolution: ts.ModuleResolutionKind.Bundler }
  const settings = { ...options, module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022, types: [] }
  const host = ts.createCompilerHost(settings)
  const read = host.getSourceFile.bind(host)
  host.getSourceFile = (name, ...rest) =>
    name === file ? ts.createSourceFile(name, lines.join('\n'), ts.ScriptTarget.ES2022) : read(name, ...rest)
  const program = ts.createProgram([file], settings, host)
  return ts.getPreEmitDiagnostics(program).map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' '))
}

/** Kinds of volumes that `restricted` admits. */
const VOLUMES: readonly string[] = [
  ...['configMap', 'csi', 'downwardAPI', 'emptyDir', 'ephemeral'],
  ...['persistentVolumeClaim', 'projected', 'secret'],
]

const FILTERS: readonly (string | undefined)[] = ['RuntimeDefault', 'Localhost']

/**
 * The rules of Pod Security `restricted`, which hold those of `baseline` (Kubernetes documentation, "Pod Security Standards"), that
 * a pod breaks, by their names there.
 */
export function restrictedProblems(pod: PodSpec): string[] {
  const containers = [...pod.containers, ...(pod.initContainers ?? [])]
  const each = (holds: (container: PodSpec['containers'][number]) => boolean) => containers.every(holds)
  const rules: Readonly<Record<string, boolean>> = {
    'Host Namespaces': [pod.hostNetwork, pod.hostPID, pod.hostIPC].every(value => value !== true),
    'Host Ports': each(({ ports = [] }) => ports.every(({ hostPort = 0 }) => hostPort === 0)),
    'Privileged Containers': each(({ securityContext }) => securityContext?.privileged !== true),
    '/proc Mount Type': each(({ securityContext }) => (securityContext?.procMount ?? 'Default') === 'Default'),
    Sysctls: (pod.securityContext?.sysctls ?? []).length === 0,
    'Volume Types': (pod.volumes ?? []).every(volume =>
      Object.keys(volume).every(key => key === 'name' || VOLUMES.includes(key)),
    ),
    'Privilege Escalation': each(({ securityContext }) => securityContext?.allowPrivilegeEscalation === false),
    'Running as Non-root': each(
      ({ securityContext }) => (securityContext?.runAsNonRoot ?? pod.securityContext?.runAsNonRoot) === true,
    ),
    'Running as Non-root user': each(
      ({ securityContext }) => (securityContext?.runAsUser ?? pod.securityContext?.runAsUser) !== 0,
    ),
    Seccomp: each(({ securityContext }) =>
      FILTERS.includes((securityContext?.seccompProfile ?? pod.securityContext?.seccompProfile)?.type),
    ),
    Capabilities: each(({ securityContext }) => {
      const { drop = [], add = [] } = securityContext?.capabilities ?? {}
      return drop.includes('ALL') && add.every(name => name === 'NET_BIND_SERVICE')
    }),
  }
  return Object.entries(rules).flatMap(([name, holds]) => (holds ? [] : [name]))
}

interface Played {
  readonly image: string
  /** On the machine: in place of the claim, which podman would make as a volume of root. */
  readonly path: string
  readonly args: readonly string[]
  /** False: in a user namespace, as the document says. Mounts of podman are not mapped into it, as those of Kubernetes are. */
  readonly hostUsers: boolean
}

/** The Job's pod alone, for `podman play kube`, which knows no Jobs. */
export function playedPod(text: string, { image, path, args, hostUsers }: Played): string {
  const pod = podOf(text)
  const spec: PodSpec = {
    ...pod,
    hostUsers,
    containers: pod.containers.map(container => ({ ...container, image, imagePullPolicy: 'Never', args: [...args] })),
    volumes: (pod.volumes ?? []).map(volume =>
      volume.persistentVolumeClaim === undefined
        ? volume
        : { name: volume.name, hostPath: { path, type: 'Directory' } },
    ),
  }
  return stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'harness-pod' }, spec })
}
