/** However a rule is spelled, what is built from it names the real place and nothing else: for bubblewrap and for seatbelt. */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { planLaunch } from '../../src/confinement/launch-plan.js'
import { landPolicy } from '../../src/confinement/policy.js'
import { type SeatbeltProfile, seatbeltProfile } from '../../src/confinement/seatbelt-profile.js'
import type { HostFacts, Policy, PolicyRequest } from '../../src/confinement/types.js'
import { isRefusal, Refusal } from '../../src/errors.js'
import { DEBIAN, policy, request, rule } from '../support/confinement-fakes.js'
import { scratch } from '../support/scratch.js'
import { allows, parseProfile, type Question } from '../support/seatbelt-evaluator.js'
import { MACOS, PRIVATE_FOLDER } from '../support/seatbelt-policies.js'

function profileOf(landed: Policy): SeatbeltProfile {
  const made = seatbeltProfile({ policy: landed, facts: MACOS, privateFolder: PRIVATE_FOLDER, ptys: false })
  if (made instanceof Refusal) throw made
  return made
}

/** Whether the profile of `landed` lets a path be asked for. */
function asked(landed: Policy): (operation: string, path: string, more?: Partial<Question>) => boolean {
  const { text, parameters } = profileOf(landed)
  const profile = parseProfile(text, parameters)
  return (operation, path, more = {}) => allows(profile, { operation, path: onMacos(path), ...more })
}

/** Where a path of this machine would land on macOS, whose /tmp is a link. */
function onMacos(path: string): string {
  return path.startsWith('/tmp/') ? `/private${path}` : path
}

/** The words that bubblewrap is given. */
function wordsOf(landed: Policy, facts: HostFacts = DEBIAN): readonly string[] {
  const plan = planLaunch({ boundary: 'bubblewrap', policy: landed, facts, command: ['/usr/bin/true'] })
  if (plan instanceof Refusal) throw plan
  return plan.args
}

/** What landing is refused with, or `landed`. */
function told(wanted: PolicyRequest): string {
  try {
    landPolicy(wanted, DEBIAN)
    return 'landed'
  } catch (error) {
    if (isRefusal(error)) return error.code
    throw error
  }
}

t.test('no rule goes through a link that what is confined could point elsewhere', async t => {
  const base = scratch(t)
  const ws = join(base, 'ws')
  for (const folder of ['ws/out', 'ws/own', 'data']) mkdirSync(join(base, folder), { recursive: true })
  for (const name of ['data/x', 'ws/own/x']) writeFileSync(join(base, name), '')
  for (const grant of ['out', 'own']) {
    symlinkSync('../../data', join(ws, grant, 'link'))
    symlinkSync('../../data/x', join(ws, grant, 'file'))
  }
  const rules: readonly ((grant: string) => Partial<PolicyRequest>)[] = [
    grant => ({ read: [join(ws, grant, 'link')] }),
    grant => ({ read: [join(ws, grant, 'link/x')] }),
    grant => ({ hide: [join(ws, grant, 'file')] }),
    grant => ({ hide: [join(ws, grant, 'link/*')] }),
    grant => ({ driver: join(ws, grant, 'file') }),
  ]
  for (const [at, rule] of rules.entries()) {
    const opens = rule('own').hide === undefined
    t.equal(told(request(ws, { writeSubtrees: ['out'], ...rule('out') })), 'crosses-writable-link', `${at}`)
    const beside = told(request(ws, { writeSubtrees: ['out'], ...rule('own') }))
    t.equal(beside, opens ? 'crosses-writable-link' : 'landed', `${at}, beside the grant`)
    const next = told(request(ws, rule('out')))
    t.equal(next, opens ? 'crosses-writable-link' : 'landed', `${at}, where nothing is granted any more`)
  }
  symlinkSync('data', join(base, 'outside'))
  t.equal(told(request(ws, { writeSubtrees: ['.'], read: [join(base, 'outside')] })), 'landed', 'of the operator')
  const socket = request(ws, { writeSubtrees: ['out'], allowSockets: [join(ws, 'out/link/x')] })
  t.equal(told(socket), 'crosses-writable-link', 'a socket, before it is looked at')
})

t.test('a toolchain is not looked for where what is confined could have put a link', async t => {
  const base = scratch(t)
  const ws = join(base, 'ws')
  for (const folder of ['ws/bin', 'sdk/bin', 'sdk/src/runtime']) mkdirSync(join(base, folder), { recursive: true })
  writeFileSync(join(base, 'sdk/bin/go'), '', { mode: 0o755 })
  symlinkSync('../../sdk/bin/go', join(ws, 'bin/go'))
  const found = (pathFolders: string[]) => {
    try {
      return landPolicy(request(ws, { toolchain: ['go'] }), { ...DEBIAN, pathFolders }).toolchains.map(
        ({ root }) => root,
      )
    } catch (error) {
      return isRefusal(error) ? error.code : error
    }
  }
  t.equal(found([join(ws, 'bin')]), 'unsupported-rule')
  t.same(found([join(ws, 'bin'), join(base, 'sdk/bin')]), [join(base, 'sdk')])
})

t.test('C02: rules that are spelled through a link are about the place it leads to, denials too', async t => {
  const base = scratch(t)
  for (const folder of ['real/ws/out', 'real/lib/keys', 'real/more']) mkdirSync(join(base, folder), { recursive: true })
  writeFileSync(join(base, 'real/ws/.envrc'), '')
  symlinkSync('real', join(base, 'link'))
  const landed = landPolicy(
    request(join(base, 'link/ws'), {
      read: [join(base, 'link/lib'), join(base, 'link/more')],
      writeSubtrees: [join(base, 'link/ws')],
      hide: [join(base, 'link/lib/keys')],
    }),
    DEBIAN,
  )
  const spelled = (rules: readonly { path: string }[]): boolean => rules.some(({ path }) => path.includes('/link/'))
  for (const rules of [[landed.workspace], landed.reads, landed.writes, landed.hides, landed.protects, landed.watched])
    t.notOk(spelled(rules), JSON.stringify(rules))
  const words = wordsOf(landed)
  const [ws, keys] = [join(base, 'real/ws'), join(base, 'real/lib/keys')]
  for (const path of [ws, join(base, 'real/lib'), keys, join(ws, '.envrc')]) t.ok(words.includes(path), path)
  t.ok(words.lastIndexOf(keys) > words.indexOf(join(base, 'real/lib')), 'what hides comes after what shows')
  const may = asked(landed)
  t.ok(may('file-write-data', join(ws, 'out/x')))
  t.notOk(may('file-write-data', join(ws, '.envrc')), 'a denial denies')
  t.ok(may('file-read-data', join(base, 'real/lib/x')))
  t.notOk(may('file-read-data', join(keys, 'x')), 'and so does one that hides')
  for (const path of Object.values(profileOf(landed).parameters)) t.notMatch(path, /\/link\//)
})

t.test('C04: every hop of a chain may be looked at, and what it leads to is what is opened', async t => {
  const base = scratch(t)
  for (const folder of ['ws', 'store/v2/c', 'store/v1/c']) mkdirSync(join(base, folder), { recursive: true })
  symlinkSync('v2', join(base, 'store/current'))
  symlinkSync('store/current/c', join(base, 'a'))
  const landed = landPolicy(request(join(base, 'ws'), { read: [join(base, 'a')] }), DEBIAN)
  const opened = landed.reads.find(({ path }) => path === join(base, 'store/v2/c'))
  t.strictSame(opened?.links, [join(base, 'a'), join(base, 'store/current')])
  const may = asked(landed)
  for (const hop of [join(base, 'a'), join(base, 'store/current')]) {
    t.ok(may('file-read-metadata', hop, { vnodeType: 'SYMLINK' }), `${hop} is looked at`)
    t.ok(may('file-read-data', hop, { vnodeType: 'SYMLINK' }), `${hop} is read as a link`)
  }
  for (const folder of ['store', 'store/v2']) {
    t.ok(may('file-read-metadata', join(base, folder), { vnodeType: 'DIRECTORY' }), `${folder} is passed through`)
  }
  t.ok(may('file-read-data', join(base, 'store/v2/c/x')))
  t.notOk(may('file-read-data', join(base, 'store/v1/c/x')), 'a sibling version is not opened')
  t.notOk(may('file-read-data', join(base, 'store/v2/other')))
})

t.test('C05: no detour of dots or links makes a writable root of what lies elsewhere', async t => {
  const base = scratch(t)
  for (const folder of ['ws/x', 'other']) mkdirSync(join(base, folder), { recursive: true })
  symlinkSync('/etc', join(base, 'ws/etc'))
  symlinkSync('../other', join(base, 'ws/other'))
  const ws = join(base, 'ws')
  const grants: readonly (readonly [grant: string, code: string])[] = [
    ['/tmp/../etc', 'outside-roots'],
    ['./x/../../..', 'outside-roots'],
    ['x/../..', 'outside-roots'],
    ['etc', 'outside-roots'],
    ['other', 'outside-roots'],
    ['x/../other/.', 'outside-roots'],
    ['x/../../../../../../../../../..', 'filesystem-root'],
    ['none/../..', 'missing'],
    ['x/../x', 'landed'],
  ]
  for (const [grant, code] of grants) t.equal(told(request(ws, { writeSubtrees: [grant] })), code, grant)
  for (const workspace of ['/tmp/../etc', '/usr/../etc', `${ws}/etc`, '/var/lib/../../etc'])
    t.equal(told(request(workspace)), 'workspace-unusable', workspace)
})

t.test('C09: a path is one word and one literal, whatever stands in it', async t => {
  const base = scratch(t)
  const names = [
    'a") (allow file-write* (subpath "',
    'a\\b',
    'a\\',
    'a\\"',
    'a;b ; (allow default)',
    "a'b",
    'a`id`$(id)',
    '(param "NONE")',
    '--ro-bind',
    '-Dx=y',
    'a=b',
    'tab\there',
    '*?[x]{a,b}',
  ]
  const of = (path: string) =>
    profileOf(policy({ workspace: rule(path), reads: [rule(path), rule('/r')], writes: [rule(path)] }))
  const shapeOf = ({ text, parameters }: SeatbeltProfile): string[] =>
    parseProfile(text, parameters).rules.map(({ action, operations }) => `${action} ${operations.join(' ')}`)
  const plain = shapeOf(of(join(base, 'plain')))
  for (const name of names) {
    const path = join(base, name)
    mkdirSync(path)
    const landed = landPolicy(request(path, { writeSubtrees: ['.'] }), DEBIAN)
    t.equal(landed.workspace.path, path)
    const words = wordsOf(landed)
    t.ok(words.includes(path), `${name}: one word for bubblewrap`)
    const profile = of(path)
    const { text, parameters } = profile
    t.notOk(text.includes(name) && name.length > 4, `${name}: no part of the text`)
    t.ok(Object.values(parameters).includes(onMacos(path)), `${name}: a parameter of its own`)
    t.strictSame(shapeOf(profile), plain, `${name}: the rules are those of any other name`)
  }
  for (const name of ['a\nb', 'a\rb']) {
    const made = seatbeltProfile({
      policy: policy({ workspace: rule(`/w/${name}`) }),
      facts: MACOS,
      privateFolder: PRIVATE_FOLDER,
      ptys: false,
    })
    t.equal(made instanceof Refusal ? made.code : 'a profile', 'unsupported-rule', JSON.stringify(name))
  }
  t.equal(told(request('/w\0x')), 'nul-in-path')
})
