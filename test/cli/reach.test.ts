/** What the file tools may reach, with a boundary and without. */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { fileReach } from '../../src/cli/reach.js'
import { landPolicy } from '../../src/confinement/policy.js'
import { isRefusal } from '../../src/errors.js'
import { fileRead } from '../../src/tools/files.js'
import { DEBIAN, request } from '../support/confinement-fakes.js'
import { scratch } from '../support/scratch.js'

const facts = (homes: readonly string[]) => ({ homes, gitSettings: [], pointedPlaces: [] })

/** A home with secrets and a workspace; answers whether a file can be read with these flags. */
function reading(t: Test, confined: boolean) {
  const home = scratch(t)
  const ws = join(home, 'ws')
  for (const folder of ['.ssh', 'notes', 'ws/keys']) mkdirSync(join(home, folder), { recursive: true })
  for (const file of ['.ssh/id', '.npmrc', 'notes/n', 'ws/keys/k', 'ws/a']) writeFileSync(join(home, file), 'text')
  const read = (path: string, parts: { read?: string[]; hide?: string[] }, before = (): void => undefined): string => {
    const inHome = (names: string[] = []) => names.map(name => join(home, name))
    const asked = request(ws, { read: inHome(parts.read), hide: inHome(parts.hide) })
    const policy = confined ? landPolicy(asked, { ...DEBIAN, homes: [home] }) : null
    const reach = fileReach({ request: asked, policy, writeScope: [], cwd: '/', facts: facts([home]) })
    before()
    const { output, failed } = fileRead({ path: join(home, path) }, reach)
    return failed ? String((output as { code: string }).code) : 'read'
  }
  return { home, ws, read }
}

for (const confined of [true, false]) {
  t.test(`what is hidden from the tools ${confined ? 'in a boundary' : 'without a boundary'}`, async t => {
    const { home, read } = reading(t, confined)
    t.equal(read('ws/a', {}), 'read')
    t.equal(read('notes/n', {}), 'outside-roots')
    t.equal(read('notes/n', { read: ['.'] }), 'read')
    for (const secret of ['.ssh/id', '.npmrc']) t.equal(read(secret, { read: ['.'] }), 'hidden', secret)
    t.equal(read('.npmrc', { read: ['.', '.npmrc'] }), 'read', 'named itself')
    t.equal(read('ws/keys/k', { hide: ['ws/keys'] }), 'hidden')
    const late = (): void => writeFileSync(join(home, 'ws/late'), 'text')
    t.equal(read('ws/late', { hide: ['ws/late'] }, late), 'hidden', 'also what comes later')
  })
}

t.test('a home folder as the workspace of a run that only reads keeps its secrets', async t => {
  const { home } = reading(t, false)
  const reach = fileReach({ request: request(home), policy: null, writeScope: [], cwd: '/', facts: facts([home]) })
  t.match(fileRead({ path: 'notes/n' }, reach), { failed: false })
  t.match(fileRead({ path: '.ssh/id' }, reach), { failed: true, output: { code: 'hidden' } })
  const itself = fileReach({
    request: request(join(home, '.ssh')),
    policy: null,
    writeScope: [],
    cwd: '/',
    facts: facts([home]),
  })
  t.match(fileRead({ path: 'id' }, itself), { failed: false }, 'named itself')
})

t.test('what cannot be opened refuses', async t => {
  const { ws } = reading(t, false)
  symlinkSync('../notes', join(ws, 'planted'))
  for (const [parts, code] of [
    [{ workspace: join(ws, 'none') }, 'workspace-unusable'],
    [{ workspace: join(ws, 'a') }, 'workspace-unusable'],
    [{ read: [join(ws, 'none')] }, 'missing'],
    [{ hide: [join(ws, '*(a)')] }, 'unsupported-rule'],
    [{ hide: [ws] }, 'hidden'],
    [{ read: [join(ws, 'planted')] }, 'crosses-writable-link'],
  ] as const) {
    try {
      fileReach({ request: request(ws, parts), policy: null, writeScope: [], cwd: '/', facts: facts([]) })
      t.fail(JSON.stringify(parts))
    } catch (error) {
      t.ok(isRefusal(error, code), JSON.stringify(parts))
    }
  }
})
