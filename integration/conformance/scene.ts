/**
 * The world around one series of attempts: a git workspace with everything that must stay as it is, a canary outside,
 * secrets, listeners, and a process of the supervisor's own user. Made afresh each time and taken away whole.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lchownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { removeTree } from '../../src/supervise/remove-tree.js'
import { needs } from '../../test/support/needs.js'
import { projectRoot } from '../../test/support/root.js'
import type { Privilege } from './backend.js'
import { type Listeners, openListeners } from './listeners.js'
import { endCarrying } from './marked.js'
import { INHERITED_FD, WORKSPACE_FILES } from './scene-paths.js'

/** The ordinary user that root becomes; nobody's numbers need no account. */
const ORDINARY = 65_534

export interface Scene {
  readonly privilege: Privilege
  /** Uid and gid of the supervisor. */
  readonly supervisor: { readonly uid: number; readonly gid: number }
  readonly owner: { readonly uid: number; readonly gid: number }
  readonly base: string
  readonly workspace: string
  /** Visible inside (read granted), not writable. */
  readonly outside: string
  /** Programs and facts, granted for reading. */
  readonly tools: string
  readonly home: string
  /** The file that descriptor 200 of the supervisor leads to. */
  readonly inheritedTarget: string
  readonly factsFile: string
  /** A word that stands in the supervisor's environment and nowhere else. */
  readonly marker: string
  /** A file name that exists nowhere. */
  readonly uniqueName: string
  readonly listeners: Listeners
  /** KEY=VALUE words for `syscalls.pl`. */
  readonly syscallFacts: readonly string[]
  /** How often the process outside was signalled. */
  signalsSeen(): number
  close(): Promise<void>
}

/** Every privilege that a boundary is tried with. */
export const PRIVILEGES: readonly Privilege[] = ['root', 'root-dropped', 'user']

/** Why a privilege cannot be shown here, for tap's `skip`: only uid 0 can be, or become, each of them. */
export function needsPrivilege(privilege: Privilege): false | string {
  return privilege === 'user' ? false : needs('root')
}

function identities(privilege: Privilege): Pick<Scene, 'supervisor' | 'owner'> {
  const own = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 }
  const ordinary = own.uid === 0 ? { uid: ORDINARY, gid: ORDINARY } : own
  const table = {
    root: { supervisor: own, owner: own },
    'root-dropped': { supervisor: own, owner: ordinary },
    user: { supervisor: ordinary, owner: ordinary },
  }
  return table[privilege]
}

/** Makes the scene. `driver`: the bundled program that will be the supervisor. */
export async function openScene(privilege: Privilege, driver: string): Promise<Scene> {
  const who = identities(privilege)
  const uniqueName = `harness-escape-${randomBytes(6).toString('hex')}`
  // Short: a unix socket's path may have 107 bytes.
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'esc-')))
  chmodSync(base, 0o755)
  const at = (name: string) => join(base, name)
  const secretText = randomBytes(12).toString('hex')
  fill(base, secretText)
  await makeRepositories(at('workspace'))
  cpSync(join(projectRoot, 'integration/fixtures/escape'), at('tools'), { recursive: true })
  cpSync(driver, join(at('tools'), 'driver.mjs'))
  const built = join(dirname(fileURLToPath(import.meta.url)), '../../bin')
  if (existsSync(built)) cpSync(built, join(at('tools'), 'bin'), { recursive: true })
  const tmpFile = join(realpathSync(tmpdir()), `${uniqueName}-seen`)
  writeFileSync(tmpFile, 'outside')
  const listeners = await openListeners(
    {
      tmp: at('l/s'),
      run: `/run/${uniqueName}`,
      home: at('home/s'),
      readGrant: at('outside/s'),
      writeGrant: at('workspace/s'),
    },
    uniqueName,
  )
  own(base, who.owner)
  const shmKey = randomBytes(4).readUInt32LE() % 0x7fffffff
  const victim = await startVictim(at('tools'), uniqueName, shmKey, who.supervisor)
  const facts = {
    workspace: at('workspace'),
    outside: at('outside'),
    canary: at('outside/canary.txt'),
    secret: at('secret/token'),
    secretText,
    home: at('home'),
    marker: `marker-${uniqueName}`,
    uniqueName,
    tmpFile,
    inheritedFd: INHERITED_FD,
    inheritedTarget: at('secret/inherited'),
    ...withoutFunctions(listeners),
  }
  writeFileSync(join(at('tools'), 'facts.json'), JSON.stringify(facts))
  return {
    privilege,
    ...who,
    base,
    workspace: facts.workspace,
    outside: facts.outside,
    tools: at('tools'),
    home: facts.home,
    inheritedTarget: facts.inheritedTarget,
    factsFile: join(at('tools'), 'facts.json'),
    marker: facts.marker,
    uniqueName,
    listeners,
    syscallFacts: [
      `workspace=${facts.workspace}`,
      `outside=${facts.outside}`,
      `canary=${facts.canary}`,
      `victim=${victim.pid}`,
      `victimname=${uniqueName}`,
      `shmkey=${victim.hasSegment ? shmKey : 0}`,
    ],
    signalsSeen: victim.signals,
    close: async () => {
      await victim.close()
      endCarrying(`HARNESS_ESCAPE=${facts.marker}`)
      await listeners.close()
      rmSync(tmpFile, { force: true })
      // What an attempt has taken its own rights to goes too, whoever runs the suite.
      removeTree(base)
    },
  }
}

function withoutFunctions(listeners: Listeners): Omit<Listeners, 'counts' | 'close'> {
  const { counts: _counts, close: _close, ...data } = listeners
  return data
}

function fill(base: string, secretText: string): void {
  const files: Readonly<Record<string, string>> = {
    'outside/canary.txt': 'canary\n',
    'secret/token': `${secretText}\n`,
    'secret/inherited': '',
    'home/.ssh/id_ed25519': `${secretText}\n`,
    ...Object.fromEntries(Object.entries(WORKSPACE_FILES).map(([name, text]) => [`workspace/${name}`, text])),
  }
  for (const folder of ['l', 'tools', 'workspace/tree']) mkdirSync(join(base, folder), { recursive: true })
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(base, name)), { recursive: true })
    writeFileSync(join(base, name), text)
  }
}

async function makeRepositories(workspace: string): Promise<void> {
  const nested = join(workspace, 'deep/er')
  mkdirSync(nested, { recursive: true })
  const options = { env: gitEnvironment(), extendEnv: false }
  const git = (cwd: string, ...args: string[]) => execa('git', args, { ...options, cwd })
  for (const folder of [workspace, nested]) {
    await git(folder, 'init', '--quiet', '--initial-branch=main')
    mkdirSync(join(folder, '.git/info'), { recursive: true })
    mkdirSync(join(folder, '.git/hooks'), { recursive: true })
    if (!existsSync(join(folder, '.git/description'))) writeFileSync(join(folder, '.git/description'), 'sample\n')
  }
  writeFileSync(join(workspace, 'tree/.git'), `gitdir: ${join(workspace, '.git')}\n`)
  await git(workspace, 'add', '--all')
  await git(workspace, 'commit', '--quiet', '--message', 'sample')
}

/** Nothing of the user's own git configuration, and an identity that is nobody's. */
function gitEnvironment(): Record<string, string> {
  const nobody = { NAME: 'sample', EMAIL: 'sample@example.invalid' }
  const identity = Object.entries(nobody).flatMap(([key, value]) => [
    [`GIT_AUTHOR_${key}`, value],
    [`GIT_COMMITTER_${key}`, value],
  ])
  return {
    PATH: process.env.PATH ?? '/usr/bin:/bin',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_CONFIG_NOSYSTEM: '1',
    ...Object.fromEntries(identity),
  }
}

/** What git says of the workspace: empty text when nothing changed. Read without taking locks, so that asking leaves no trace. */
export async function gitStatus(workspace: string): Promise<string> {
  const args = [
    '-c',
    'safe.directory=*',
    '-c',
    'core.fsmonitor=false',
    'status',
    '--porcelain',
    '--untracked-files=all',
  ]
  const env = { ...gitEnvironment(), GIT_OPTIONAL_LOCKS: '0' }
  const { stdout } = await execa('git', args, { cwd: workspace, env, extendEnv: false })
  return stdout
}

/** Everything belongs to `owner` and nothing outside the workspace is guarded by its mode: the boundary has to hold alone. */
function own(base: string, owner: Scene['owner']): void {
  for (const name of readdirSync(base, { recursive: true, encoding: 'utf8' }))
    lchownSync(join(base, name), owner.uid, owner.gid)
  chownSync(base, owner.uid, owner.gid)
  chmodSync(join(base, 'outside'), 0o777)
  chmodSync(join(base, 'outside/canary.txt'), 0o666)
}

interface Victim {
  readonly pid: number
  readonly hasSegment: boolean
  readonly signals: () => number
  readonly close: () => Promise<void>
}

/** Started as the supervisor's user, so that signals and ptrace are refused by the boundary and not by the kernel's owner check. */
async function startVictim(tools: string, name: string, key: number, who: Scene['supervisor']): Promise<Victim> {
  const identity = process.getuid?.() === 0 ? who : {}
  const child: ChildProcess = spawn('perl', [join(tools, 'victim.pl'), name, String(key)], {
    stdio: ['pipe', 'pipe', 'inherit'],
    ...identity,
  })
  let said = ''
  const { stdout, stdin, pid } = child
  if (stdout === null || stdin === null || pid === undefined)
    throw new Error('the process outside could not be started')
  stdout.on('data', data => {
    said += String(data)
  })
  await once(stdout, 'data')
  return {
    pid,
    hasSegment: said.includes('segment'),
    signals: () => said.split('signalled').length - 1,
    close: async () => {
      stdin.end()
      await once(child, 'exit')
    },
  }
}
