/**
 * Control files as programs meet them: whatever decides what runs later refuses a write grant that holds it, kind by kind,
 * before anything is started; and a narrower grant beside it is one that runs.
 */
import { chmodSync, copyFileSync, cpSync, existsSync, linkSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { execa } from 'execa'
import t from 'tap'
import { needs } from '../../test/support/needs.js'
import { harnessBin, type Scratch, scratch } from '../support/harness.js'

interface Kind {
  /** Words of `what` in the refusal. */
  readonly what: RegExp
  /** Puts the thing into `folder`; gives the options and variables that name it. */
  readonly put: (folder: string) => {
    readonly words?: readonly string[]
    readonly env?: Readonly<Record<string, string>>
    /** Another program than the built one. */
    readonly program?: string
    readonly node?: string
  }
  /** `exec`: a kind of that command. Absent: of `run`. */
  readonly command?: 'exec'
  /** May lie nowhere in the workspace, granted or not. */
  readonly outOfWorkspace?: true
}

function file(folder: string, name: string, text: string, mode = 0o600): string {
  const path = join(folder, name)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text, { mode })
  return path
}

const one = (flag: string, name: string, text: string) => (folder: string) => ({
  words: [flag, file(folder, name, text)],
})
const folderOf = (flag: string, name: string, text: string) => (folder: string) => ({
  words: [flag, dirname(dirname(file(folder, name, text)))],
})

/** A hooks file whose one hook is `script`, which need not lie beside it. */
function hooksFile(folder: string, script: string): string {
  return file(folder, 'hooks.json', JSON.stringify({ version: 1, hooks: [{ on: 'after-call', command: [script] }] }))
}

/** One that holds: an unreadable card is refused before anything else is looked at. */
const PRICES = JSON.stringify({ source: 'a test', as_of: '2026-01-01', models: {} })

const script = (folder: string): string => file(folder, 'hook.sh', '#!/bin/sh\nexit 0\n', 0o755)
/** They are refused where they lie in the workspace, which an operator can overrule, and a grant over them cannot. */
const UNCHECKED = '--hooks-unchecked'

/** `elsewhere`: a folder outside of the workspace. */
function kinds(elsewhere: string): Readonly<Record<string, Kind>> {
  return {
    'the hooks file': {
      what: /the hooks file/,
      put: folder => ({ words: ['--hooks', hooksFile(folder, script(elsewhere)), UNCHECKED] }),
    },
    'a hook program': {
      what: /hook/,
      put: folder => ({ words: ['--hooks', hooksFile(elsewhere, script(folder)), UNCHECKED] }),
    },
    'what a hook program loads': {
      what: /hook/,
      put: folder => {
        const module = file(folder, 'lib.mjs', '')
        const main = file(elsewhere, 'hook.mjs', '')
        const hooks = [{ on: 'after-call', command: [process.execPath, '--import', module, main] }]
        const path = file(elsewhere, 'loading.json', JSON.stringify({ version: 1, hooks }))
        return { words: ['--hooks', path, UNCHECKED] }
      },
    },
    'the configuration file': {
      what: /configuration/,
      put: folder => ({ env: { XDG_CONFIG_HOME: dirname(dirname(file(folder, 'c/b10x/harness.toml', ''))) } }),
      outOfWorkspace: true,
    },
    'a configuration folder with nothing in it yet': {
      what: /our configuration/,
      put: folder => ({ env: { XDG_CONFIG_HOME: join(folder, 'c') } }),
    },
    'a token file of the configuration': {
      what: /token file of provider/,
      put: folder => {
        const token = file(folder, 'token', 'secret')
        const text = `[providers.own]\nbase-url = "http://127.0.0.1:9/v1"\nwire = "openai-chat"\noauth-token-file = ${JSON.stringify(token)}\n`
        return { env: { XDG_CONFIG_HOME: dirname(dirname(file(elsewhere, 'conf/b10x/harness.toml', text))) } }
      },
    },
    'the state folder': {
      what: /our state folder/,
      put: folder => ({ env: { XDG_STATE_HOME: join(folder, 's') }, words: ['--no-session'] }),
    },
    'the session folder': {
      what: /session folder/,
      put: folder => ({ words: ['--session-dir', join(folder, 'sessions')] }),
      outOfWorkspace: true,
    },
    'the code cache': { what: /our code cache/, put: folder => ({ env: { XDG_CACHE_HOME: join(folder, 'cache') } }) },
    'an API key file': { what: /API key file/, put: one('--api-key-file', 'key', 'secret') },
    'a token file': { what: /token file/, put: one('--oauth-token-file', 'token', 'secret') },
    'the schema': { what: /schema/, put: one('--output-schema', 'schema.json', '{"type":"object"}') },
    'the rate card': { what: /rate card/, put: one('--prices', 'prices.json', PRICES) },
    'the instructions': { what: /instructions/, put: one('--instructions-file', 'instructions.md', 'x') },
    'the log': { what: /log/, put: folder => ({ words: ['--log-file', join(folder, 'log.jsonl')] }) },
    'the skills': {
      what: /skills/,
      put: folderOf('--skills-dir', 'skills/one/SKILL.md', '---\nname: one\ndescription: one\n---\nx\n'),
    },
    'the agents': {
      what: /agents/,
      put: folder => ({
        words: [
          '--delegate',
          '--agents-dir',
          dirname(file(folder, 'agents/a.md', '---\nname: a\ndescription: a\n---\nx\n')),
        ],
      }),
    },
    'a plugin': {
      what: /plugin/,
      put: folderOf('--plugin-dir', 'plugin/.claude-plugin/plugin.json', '{"name":"p"}'),
    },
    'the memories': { what: /memories/, put: folder => ({ words: ['--memory-dir', emptyFolder(folder, 'memories')] }) },
    'the outcome record': {
      what: /outcome record/,
      put: folder => ({ words: ['--outcome-file', join(folder, 'outcome.json')] }),
      command: 'exec',
    },
    'this program': {
      what: /this program/,
      put: folder => {
        cpSync(dirname(harnessBin), join(folder, 'bin'), { recursive: true })
        return { program: join(folder, 'bin/harness.cjs') }
      },
      command: 'exec',
    },
    'the Node that runs it': {
      what: /the Node that runs this program/,
      put: folder => ({ node: copied(process.execPath, join(folder, 'node')) }),
      command: 'exec',
    },
  }
}

function emptyFolder(folder: string, name: string): string {
  mkdirSync(join(folder, name), { recursive: true })
  return join(folder, name)
}

/** A second name where the disk is the same, which spares 100 MB. */
function copied(from: string, to: string): string {
  try {
    linkSync(from, to)
  } catch {
    copyFileSync(from, to)
    chmodSync(to, 0o755)
  }
  return to
}

/** Runs with the thing in `held` of a workspace in which `granted` may be written. */
async function tried(kind: Kind, root: Scratch, { held, granted }: { held: string; granted: string }) {
  const ws = join(root.path, 'ws')
  const at = join(ws, held)
  for (const folder of [at, join(ws, granted), join(root.path, 'elsewhere'), join(root.path, 'home')])
    mkdirSync(folder, { recursive: true })
  const { words = [], env = {}, program = harnessBin, node = process.execPath } = kind.put(at)
  const common = ['--workspace', ws, '--confine', 'native', '--process-write-subtree', granted, ...words]
  const session = words.some(word => /session/.test(word)) ? [] : ['--no-session']
  const argv =
    kind.command === 'exec'
      ? ['exec', ...common, '--', 'touch', join(ws, granted, 'ran')]
      : ['run', ...endpoint(words), '--yes', '--allow-program', 'touch', ...session, ...common, '--input', 'x']
  const ran = await execa(node, [program, ...argv], {
    cwd: root.path,
    reject: false,
    stdin: 'ignore',
    extendEnv: false,
    env: { PATH: process.env.PATH ?? '', HOME: join(root.path, 'home'), ...env },
    timeout: 60_000,
  })
  return { status: ran.exitCode, stderr: ran.stderr, made: existsSync(join(ws, granted, 'ran')) }
}

/** The demo takes no credentials; what has some is pointed at a port where nobody listens. */
function endpoint(words: readonly string[]): string[] {
  if (!words.some(word => /-(?:key|token)-file$/.test(word))) return ['--provider', 'demo']
  return ['--base-url', 'http://127.0.0.1:9/v1', '--model', 'none', '--max-duration-ms', '300']
}

const skip = needs('linux', 'bubblewrap')

t.test(
  'every kind of control file refuses a grant that holds it, and is named',
  { skip, timeout: 180_000 },
  async t => {
    const names = Object.keys(kinds(''))
    t.ok(names.length > 20)
    for (const name of names) {
      const root = scratch()
      t.teardown(root.remove)
      const kind = kinds(join(root.path, 'elsewhere'))[name]
      if (kind === undefined) throw new Error(name)
      const inside = await tried(kind, root, { held: 'open/deep', granted: 'open' })
      t.equal(inside.status, kind.command === 'exec' ? 125 : 1, `${name}: ${inside.stderr.slice(0, 300)}`)
      t.match(inside.stderr, /refused \[control-file-inside\]/, name)
      t.match(inside.stderr, kind.what, `${name} is named`)
      t.notOk(inside.made, `${name}: nothing ran`)
    }
  },
)

t.test('and beside it a grant holds', { skip, timeout: 180_000 }, async t => {
  for (const [name, { outOfWorkspace }] of Object.entries(kinds(''))) {
    const root = scratch()
    t.teardown(root.remove)
    const kind = kinds(join(root.path, 'elsewhere'))[name]
    if (kind === undefined) throw new Error(name)
    const beside = await tried(kind, root, { held: 'kept', granted: 'open' })
    const isRefused = /control-file-inside/.test(beside.stderr)
    t.equal(isRefused, outOfWorkspace === true, `${name}: ${beside.stderr.slice(0, 300)}`)
  }
})
