/** A plan for people: indented text, and as a graph for Mermaid and Graphviz. Pure. */
import type { Flow, Group, Node } from './document.js'

/** One line a group, with ` (repeat: max N)` where it is tried more than once, and its numbered layers. */
export function planText({ id, root }: Flow): string {
  return [id, ...groupLines(root, root.id, '  ')].join('\n')
}

function groupLines(group: Group, path: string, indent: string): string[] {
  const { attempts, layers } = group
  const repeat = attempts > 1 ? ` (repeat: max ${attempts})` : ''
  const inner = group.nodes.flatMap(node =>
    node.kind === 'group' ? groupLines(node, `${path}.${node.id}`, `${indent}  `) : [],
  )
  const byId = new Map(group.nodes.map(node => [node.id, node]))
  return [
    `${indent}${path}${repeat}`,
    ...layers.map((ids, at) => `${indent}  ${at + 1}. ${ids.map(id => labelOf(byId.get(id))).join(', ')}`),
    ...inner,
  ]
}

function labelOf(node: Node | undefined): string {
  if (node === undefined) throw new Error('a layer names no node')
  return node.kind === 'command' || node.kind === 'operator' ? `${node.id} [${node.kind}]` : node.id
}

/** At most 80 characters of a title, in one line. */
function titleOf(text: string): string {
  return /^.{0,80}/su.exec(text.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' '))?.[0] ?? ''
}

/**
 * Words in double quotes for Mermaid: by their codes, `#34;`, which it decodes last. It looks for directives (`%%{`) and its own
 * codes in the whole text before it reads a quote, and keeps the letter ﬂ for itself.
 */
function inMermaid(text: string): string {
  return `"${titleOf(text).replace(/["#%&<>\\`ﬂ]/g, sign => `#${sign.charCodeAt(0)};`)}"`
}

/** Words in double quotes for Graphviz: it decodes entities, and reads a backslash by itself in every label. */
function inDot(text: string): string {
  return `"${titleOf(text).replaceAll('&', '&amp;').replace(/["\\]/g, '\\$&')}"`
}

/** Names of nodes in a graph: paths hold dots and dashes, which end a name there. */
class Names {
  readonly #numbers = new Map<string, string>()

  of(path: string): string {
    const known = this.#numbers.get(path) ?? `n${this.#numbers.size}`
    this.#numbers.set(path, known)
    return known
  }
}

function groupTitle({ id, attempts }: Group): string {
  return attempts > 1 ? `${id} (repeat: max ${attempts})` : id
}

function wordsOf(node: Exclude<Node, Group>): string {
  switch (node.kind) {
    case 'llm':
      return node.id
    case 'command':
      return `${node.id}: ${node.command.join(' ')}`
    case 'operator':
      return `${node.id}: operator`
  }
}

/** A flowchart for Mermaid: a group is a subgraph, an edge goes from what is needed to what needs it. */
export function planMermaid({ root }: Flow): string {
  const names = new Names()
  const shapes = { llm: ['[', ']'], command: ['[[', ']]'], operator: ['{{', '}}'] } as const
  const draw = (group: Group, path: string, indent: string): string[] => {
    const inner = group.nodes.flatMap(node => {
      const at = `${path}.${node.id}`
      if (node.kind === 'group') return draw(node, at, `${indent}  `)
      const [open, close] = shapes[node.kind]
      return [`${indent}  ${names.of(at)}${open}${inMermaid(wordsOf(node))}${close}`]
    })
    return [`${indent}subgraph ${names.of(path)}[${inMermaid(groupTitle(group))}]`, ...inner, `${indent}end`]
  }
  const drawn = draw(root, root.id, '  ')
  const edges = edgesOf(root, root.id).map(({ from, to }) => `  ${names.of(from)} --> ${names.of(to)}`)
  return ['flowchart TD', ...drawn, ...edges].join('\n')
}

/** A graph for Graphviz: an edge of a group ends at its frame (`ltail`, `lhead`), between two of its steps. */
export function planDot({ id, root }: Flow): string {
  const names = new Names()
  const shapes = { llm: 'box', command: 'component', operator: 'hexagon' } as const
  const draw = (group: Group, path: string, indent: string): string[] => [
    `${indent}subgraph cluster_${names.of(path)} {`,
    `${indent}  label=${inDot(groupTitle(group))}`,
    ...group.nodes.flatMap(node => {
      const at = `${path}.${node.id}`
      if (node.kind === 'group') return draw(node, at, `${indent}  `)
      return [`${indent}  ${names.of(at)} [shape=${shapes[node.kind]}, label=${inDot(wordsOf(node))}]`]
    }),
    `${indent}}`,
  ]
  const drawn = draw(root, root.id, '  ')
  const edges = edgesOf(root, root.id).map(({ from, to, fromNode, toNode }) => {
    const frames = [
      ...(fromNode.kind === 'group' ? [`ltail=cluster_${names.of(from)}`] : []),
      ...(toNode.kind === 'group' ? [`lhead=cluster_${names.of(to)}`] : []),
    ]
    const [tail, head] = [names.of(stepIn(fromNode, from)), names.of(stepIn(toNode, to))]
    return `  ${tail} -> ${head}${frames.length === 0 ? '' : ` [${frames.join(', ')}]`}`
  })
  return [`digraph ${inDot(id)} {`, '  compound=true', ...drawn, ...edges, '}'].join('\n')
}

interface Edge {
  readonly from: string
  readonly to: string
  readonly fromNode: Node
  readonly toNode: Node
}

function edgesOf({ nodes }: Group, path: string): Edge[] {
  const byId = new Map(nodes.map(node => [node.id, node]))
  return nodes.flatMap(node => {
    const to = `${path}.${node.id}`
    const own = node.needs.flatMap(need => {
      const fromNode = byId.get(need)
      return fromNode === undefined ? [] : [{ from: `${path}.${need}`, to, fromNode, toNode: node }]
    })
    return node.kind === 'group' ? [...own, ...edgesOf(node, to)] : own
  })
}

function stepIn(node: Node, path: string): string {
  const [first] = node.kind === 'group' ? node.nodes : []
  return first === undefined ? path : stepIn(first, `${path}.${first.id}`)
}
