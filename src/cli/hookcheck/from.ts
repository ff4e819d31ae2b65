/** `--from claude FILE`: the hooks file on stdout, what has no counterpart on stderr. 0 all of it has one, 1 not all. */

import { dirname, join } from 'node:path'
import { HOOKCHECK_INPUT_BYTES_MAX } from '../../bounds.js'
import { Refusal } from '../../errors.js'
import { importClaude } from '../../hookcheck/import-claude.js'
import type { ImportNote } from '../../hookcheck/import-command.js'
import { isJsonObject, type JsonObject, syntaxFault } from '../../json.js'
import type { Io } from '../io.js'
import { baseFolder } from '../own-folders.js'
import { escapeLines, oneLine } from '../terminal-text.js'
import { readInput } from './read-input.js'

export async function importFrom(
  path: string,
  io: Pick<Io, 'env' | 'err'>,
): Promise<{ readonly text: string; readonly status: 0 | 1 }> {
  const root = parsed(readInput(path, { what: 'the settings', bytesMax: HOOKCHECK_INPUT_BYTES_MAX }), path)
  const home = io.env.HOME?.startsWith('/') ? io.env.HOME : null
  const config = baseFolder(io.env, 'XDG_CONFIG_HOME')
  const { hooks, notes } = await importClaude(root, {
    pluginRoot: pluginRootOf(path),
    home,
    programs: config === null ? '/etc/b10x/hooks' : join(config.path, config.below, 'b10x', 'hooks'),
    file: path,
  })
  for (const note of notes) io.err.write(noteText(note))
  if (hooks.length === 0)
    io.err.write(
      `${oneLine(path, 4_096)}: ${notes.length === 0 ? 'it has no hooks' : 'none of its hooks corresponds to one'}\n`,
    )
  return {
    text: `${JSON.stringify({ version: 1, hooks }, null, 2)}\n`,
    status: notes.some(({ kind }) => kind !== 'changed') ? 1 : 0,
  }
}

/** A byte order mark is what editors of that client's users leave; everything else has to be JSON. */
function parsed(bytes: Uint8Array, path: string): JsonObject {
  const text = Buffer.from(bytes).toString('utf8')
  try {
    const root: unknown = JSON.parse(text.replace(/^\ufeff/, ''))
    if (isJsonObject(root)) return root
  } catch (error) {
    throw notSettings(path, `it is not JSON: ${syntaxFault(error)}`)
  }
  throw notSettings(path, 'it holds no JSON object')
}

function notSettings(file: string, why: string): Refusal {
  const text = `${file}: ${why}: name a settings.json, the hooks.json of a plugin, or its plugin.json`
  return new Refusal('bad-document', { file }, text)
}

/** `ROOT/hooks/hooks.json` and `ROOT/.claude-plugin/plugin.json`; null for settings. */
function pluginRootOf(path: string): string | null {
  if (/\/hooks\/[^/]+\.json$/.test(path)) return dirname(dirname(path))
  return path.endsWith('/.claude-plugin/plugin.json') ? dirname(dirname(path)) : null
}

function noteText({ kind, where, text, file }: ImportNote): string {
  const head = `${kind === 'left-out' ? 'left out' : kind === 'by-hand' ? 'by hand' : 'note'}  `
  const lines = [`${head}${where === '' ? '' : `${oneLine(where)}: `}${oneLine(text, 4_096)}`]
  if (file !== undefined)
    lines.push(
      ...escapeLines(file.text.trimEnd())
        .split('\n')
        .map(line => `    ${line}`),
    )
  return `${lines.join('\n')}\n`
}
