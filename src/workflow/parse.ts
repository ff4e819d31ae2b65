/** The bytes of a flow document → the flow, by the ending of the file's name (contract §22). Pure. */
import { createHash } from 'node:crypto'
import { FLOW_BYTES_MAX, FLOW_TREE_DEPTH_MAX } from '../bounds.js'
import { Refusal } from '../errors.js'
import { type JsonDefect, type Placed, readStrictJson } from '../hooks/strict-json.js'
import { type Flow, flowOf } from './document.js'
import { readPlainYaml } from './plain-yaml.js'
import { readYaml } from './yaml-tree.js'

const READERS: Readonly<Record<string, (bytes: Uint8Array) => Placed | JsonDefect>> = {
  '.yaml': yaml,
  '.yml': yaml,
  '.json': json,
}

/**
 * Reads a flow. `file` is its name as it was spelled: `.yaml` and `.yml` are YAML, `.json` is JSON, nothing else is read.
 * Throws `bad-document` with the line, `too-large`.
 */
export function parseFlow(bytes: Uint8Array, file: string): Flow {
  if (bytes.length > FLOW_BYTES_MAX) {
    const text = `${file} has ${bytes.length} bytes, over the bound of ${FLOW_BYTES_MAX} for a flow: divide it`
    throw new Refusal('too-large', { path: file, bytes: bytes.length, limit: FLOW_BYTES_MAX }, text)
  }
  const ending = /\.[^./]*$/.exec(file)?.[0] ?? ''
  const read = Object.hasOwn(READERS, ending) ? READERS[ending] : undefined
  if (read === undefined) {
    const text = `${file}: a flow is read by the ending of its name: call it .yaml, .yml or .json`
    throw new Refusal('bad-document', { file }, text)
  }
  const tree = read(bytes)
  if ('kind' in tree) return flowOf(tree, file)
  const place = tree.place === null ? null : `${tree.place.line}:${tree.place.column}`
  const at = place === null ? file : `${file}:${place}`
  throw new Refusal('bad-document', { file, ...(place === null ? {} : { place }) }, `${at}: ${tree.message}`)
}

function json(bytes: Uint8Array): Placed | JsonDefect {
  const { root, defects } = readStrictJson(bytes, FLOW_TREE_DEPTH_MAX)
  const [first] = defects
  if (first !== undefined) return first
  if (root === null) throw new Error('neither a document nor a defect')
  return root
}

function yaml(bytes: Uint8Array): Placed | JsonDefect {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    return readPlainYaml(text) ?? readYaml(text)
  } catch (error) {
    if (error instanceof TypeError) return { message: 'it is not valid UTF-8', place: null }
    throw error
  }
}

/** Of what the flow says, not of how it is written: comments, order of keys and notation do not count. */
export function flowDigest(flow: Flow): string {
  return createHash('sha256').update(JSON.stringify(flow)).digest('hex')
}
