/**
 * The world around the attempts: two workspaces of ours, one granted and one not, a folder that is shown, a secret that is
 * not, listeners. Made afresh for each doctor, looked at afterwards, and taken away whole, after a `kill -9` at the next start;
 * nothing of the operator's is touched.
 */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  lchownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { type AddressInfo, createServer, type ListenOptions } from 'node:net'
import { dirname, join } from 'node:path'
import { randomHex } from '../../random.js'
import { PrivateFolder, temporaryFolder } from '../../supervise/private-folder.js'
import { ownStartTime } from '../../supervise/processes.js'
import type { SeenOutside } from './attempts.js'
import type { InsideFacts } from './inside-program.js'
import type { Machine } from './places.js'

export interface Scene {
  readonly base: string
  /** Nothing of it may be written. */
  readonly closed: string
  /** Granted whole; holds git folders and control files. */
  readonly granted: string
  /** Shown to both. */
  readonly outside: string
  /** A file for a descriptor that must not get inside. */
  readonly inherited: string
  readonly facts: Omit<InsideFacts, 'names' | 'workspace' | 'raw'>
  /** What the attempts have left: the names of what is there and should not be, each with what was seen. */
  seen(): ReadonlyMap<SeenOutside, string>
  close(): void
}

const FILES: Readonly<Record<string, string>> = {
  'outside/canary': 'canary\n',
  'secret/token': '',
  'secret/inherited': '',
  'closed/kept': 'kept\n',
  'granted/.git/HEAD': 'ref: refs/heads/main\n',
  'granted/.git/config': '[core]\n\tbare = false\n',
  'granted/.git/hooks/sample': '\n',
  'granted/.git/objects/kept': '\n',
  'granted/.git/refs/kept': '\n',
  'granted/deep/er/.git/HEAD': 'ref: refs/heads/main\n',
  'granted/deep/er/.git/config': '[core]\n\tbare = false\n',
  'granted/deep/er/.git/objects/kept': '\n',
  'granted/deep/er/.git/refs/kept': '\n',
  // Where Landlock grants what stands at the top of a grant, no new name can be made at the top itself.
  'granted/room/kept': '\n',
  'granted/.envrc': '\n',
  'granted/.vscode/settings.json': '{}\n',
}

/** Nothing that has the name `NAME` stands in anybody's environment but this process's and what it gives on. */
const VARIABLE = 'HARNESS_DOCTOR_MARK'

/** Owner of the scene; null: who makes it. */
export type SceneOwner = { readonly uid: number; readonly gid: number } | null

export interface SceneRequest {
  readonly owner: SceneOwner
  readonly machine: Machine
}

/** Makes the scene. Throws what `PrivateFolder.make` throws, and the system's error where nothing can be written or given to the owner. */
export async function openScene(request: SceneRequest): Promise<Scene> {
  const [folder, unshown] = [PrivateFolder.make({ outside: [] }), PrivateFolder.make({ outside: [] })]
  const remove = (): void => {
    folder.remove()
    unshown.remove()
  }
  try {
    return await fill({ ...request, base: folder.path, unshown: unshown.path, remove })
  } catch (error) {
    remove()
    throw error
  }
}

interface SceneFolders extends SceneRequest {
  readonly base: string
  /** Beside it; nothing of it is ever shown. */
  readonly unshown: string
  remove(): void
}

async function fill({ base, unshown, owner, machine, remove }: SceneFolders): Promise<Scene> {
  const at = (...names: string[]) => join(base, ...names)
  const mark = `harness-doctor-${randomHex(8)}`
  const secretText = randomHex(12)
  for (const [name, text] of Object.entries({ ...FILES, 'secret/token': secretText })) {
    mkdirSync(dirname(at(name)), { recursive: true })
    writeFileSync(at(name), text)
  }
  own(base, owner)
  const reached = new Set<string>()
  const listeners = await listen(at('outside', 's'), mark, reached)
  const variable: [string, string] = [VARIABLE, randomHex(12)]
  process.env[variable[0]] = variable[1]
  let signalled = false
  const hear = (): void => {
    signalled = true
  }
  process.on('SIGURG', hear)
  const before = { outside: contents(at('outside')), closed: contents(at('closed')), granted: contents(at('granted')) }
  return {
    base,
    closed: at('closed'),
    granted: at('granted'),
    outside: at('outside'),
    inherited: at('secret', 'inherited'),
    facts: {
      outside: at('outside'),
      secret: at('secret', 'token'),
      secretText,
      pid: process.pid,
      startTime: ownStartTime(),
      mark,
      tmpName: unshown,
      machine,
      variable,
      ...listeners.facts,
    },
    seen: () => seenOf({ at, mark, before, reached, signalled }),
    close() {
      process.off('SIGURG', hear)
      delete process.env[variable[0]]
      listeners.close()
      for (const file of leftPlaces(mark)) rmSync(file, { force: true })
      remove()
    },
  }
}

/** Modes guard nothing of it: the boundary has to hold alone. */
function own(base: string, owner: SceneOwner): void {
  for (const name of readdirSync(base, { recursive: true, encoding: 'utf8' }))
    if (owner !== null) lchownSync(join(base, name), owner.uid, owner.gid)
  if (owner !== null) lchownSync(base, owner.uid, owner.gid)
  chmodSync(base, 0o755)
  chmodSync(join(base, 'outside'), 0o777)
  chmodSync(join(base, 'outside', 'canary'), 0o666)
}

interface Looked {
  readonly at: (...names: string[]) => string
  readonly mark: string
  readonly before: Readonly<Record<'outside' | 'closed' | 'granted', ReadonlyMap<string, string>>>
  readonly reached: ReadonlySet<string>
  readonly signalled: boolean
}

function seenOf({ at, mark, before, reached, signalled }: Looked): ReadonlyMap<SeenOutside, string> {
  const changed = (folder: keyof typeof before, of: (path: string) => boolean = () => true): string =>
    differing(before[folder], contents(at(folder)))
      .filter(of)
      .join(', ')
  const control = (path: string): boolean => /^\.(envrc|vscode)/.test(path)
  const git = (path: string): boolean => /^(\.git|deep)(\/|$)/.test(path)
  const made = orUndefined(() => statSync(at('granted', 'room', 'made')).uid)
  const entries: readonly (readonly [SeenOutside, string])[] = [
    ['outside-changed', changed('outside')],
    ['planted-in-workspace', changed('closed')],
    ['git-changed', changed('granted', git)],
    ['control-file-changed', changed('granted', control)],
    ['listener-reached', [...reached].join(', ')],
    ['supervisor-signalled', signalled ? 'SIGURG came' : ''],
    ['left-in-tmp-home-shm', leftPlaces(mark).join(', ')],
    ['descriptor-written', readFileSync(at('secret', 'inherited'), 'latin1')],
    ['runs-as-root', made === 0 ? 'a file that was made inside belongs to uid 0' : ''],
  ]
  return new Map(entries.filter(([, what]) => what !== ''))
}

/** Files by their path from `folder`, and what stands in them; sockets and folders without. */
function contents(folder: string): Map<string, string> {
  const found = new Map<string, string>()
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const path = join(folder, name)
    found.set(name, statSync(path).isFile() ? readFileSync(path, 'latin1') : '')
  }
  return found
}

function differing(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): string[] {
  return [...new Set([...before.keys(), ...after.keys()])].filter(name => before.get(name) !== after.get(name))
}

function leftPlaces(mark: string): string[] {
  const places = [temporaryFolder(), '/tmp', process.env.HOME ?? '/', '/home/agent', '/dev/shm']
  return [...new Set(places)].map(place => join(place, mark)).filter(existsSync)
}

interface Listeners {
  readonly facts: Pick<InsideFacts, 'tcpPort' | 'udpPort' | 'unixPath' | 'abstractName'>
  close(): void
}

/** Bytes of a unix socket's path, without the 0 behind it (unix(7); unix(4) of macOS). A longer one would be cut. */
const SOCKET_PATH_BYTES_MAX = process.platform === 'linux' ? 107 : 103

/** What cannot be opened is null: then there is nothing to reach. */
async function listen(unixPath: string, name: string, reached: Set<string>): Promise<Listeners> {
  const closings: (() => void)[] = []
  const stream = async (what: string, options: ListenOptions): Promise<number | null> => {
    const server = createServer(socket => {
      reached.add(what)
      socket.on('error', () => {})
      socket.destroy()
    })
    server.listen(options)
    if (!(await opens(server, 'listening'))) return null
    closings.push(() => server.close())
    const address = server.address()
    return typeof address === 'object' ? ((address as AddressInfo | null)?.port ?? 0) : 0
  }
  const datagrams = createSocket('udp4')
  datagrams.on('message', (_, from) => {
    reached.add('udp')
    datagrams.send('reached', from.port, from.address)
  })
  datagrams.bind(0, '127.0.0.1')
  const udp = await opens(datagrams, 'listening')
  if (udp) closings.push(() => datagrams.close())
  const fits = Buffer.byteLength(unixPath) <= SOCKET_PATH_BYTES_MAX
  const unix = fits ? await stream('unix-path', { path: unixPath }) : null
  if (unix !== null) chmodSync(unixPath, 0o777)
  const abstract = process.platform === 'linux' ? await stream('unix-abstract', { path: `\0${name}` }) : null
  return {
    facts: {
      tcpPort: await stream('tcp', { host: '127.0.0.1', port: 0 }),
      udpPort: udp ? datagrams.address().port : null,
      unixPath: unix === null ? null : unixPath,
      abstractName: abstract === null ? null : name,
    },
    close: () => {
      for (const close of closings) close()
    },
  }
}

/** False where it says error first. */
async function opens(emitter: NodeJS.EventEmitter, event: string): Promise<boolean> {
  try {
    await once(emitter, event)
    emitter.on('error', () => {})
    return true
  } catch {
    return false
  }
}

function orUndefined<Value>(read: () => Value): Value | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
