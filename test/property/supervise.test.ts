/** What holds for every order of events and every way a stream is cut. */
import fc from 'fast-check'
import t from 'tap'
import { BoundedOutput, renderCaptured } from '../../src/supervise/bounded-output.js'
import { type Action, type Happening, LIFECYCLE, type State, step } from '../../src/supervise/lifecycle.js'

const HAPPENINGS: Happening[] = [
  'spawned',
  'spawn-failed',
  'stop-asked',
  'kill-asked',
  'grace-over',
  'leader-exited',
  'output-closed',
  'drain-over',
  'tree-empty',
  'proof-over',
]

/** What a timer that an action arms will say, if nothing else happens before. */
const ARMS: Partial<Record<Action, Happening>> = {
  'arm-deadline': 'stop-asked',
  'arm-grace': 'grace-over',
  'arm-drain': 'drain-over',
  'arm-proof': 'proof-over',
}

function follow(happenings: readonly Happening[]) {
  let state: State = 'starting'
  const actions: Action[] = []
  const armed = new Set<Happening>()
  const feed = (happening: Happening) => {
    const { next, actions: todo } = step(state, happening)
    state = next
    for (const action of todo) {
      actions.push(action)
      const timer = ARMS[action]
      if (timer !== undefined) armed.add(timer)
      if (action === 'disarm-deadline') armed.delete('stop-asked')
    }
  }
  for (const happening of happenings) feed(happening)
  return { feed, armed, actions, state: () => state }
}

t.test('any order of events ends, by armed timers alone', async t => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...HAPPENINGS), { maxLength: 30 }), happenings => {
      const life = follow(['spawned', ...happenings])
      for (let rounds = 0; life.state() !== 'ended'; rounds++) {
        const next = [...life.armed].find(timer => step(life.state(), timer).next !== life.state())
        if (next === undefined || rounds > 10) return false
        life.armed.delete(next)
        life.feed(next)
      }
      return life.actions.filter(action => action === 'settle').length === 1
    }),
  )
  t.pass()
})

t.test('nothing settles before its tree was killed or seen to be empty', async t => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...HAPPENINGS), { maxLength: 30 }), happenings => {
      const life = follow(['spawned', ...happenings])
      if (!life.actions.includes('settle')) return true
      return life.actions.includes('watch-tree')
    }),
  )
  for (const [state, row] of Object.entries(LIFECYCLE)) {
    for (const [happening, { next }] of Object.entries(row)) {
      if (next === 'ended' && state !== 'starting')
        t.ok(['tree-empty', 'proof-over'].includes(happening), `${state} + ${happening}`)
    }
  }
})

const chunked = fc.tuple(
  fc.uint8Array({ maxLength: 600 }),
  fc.array(fc.nat(600), { maxLength: 8 }),
  fc.integer({ min: 2, max: 200 }),
)

function keep(bytes: Uint8Array, cuts: readonly number[], bound: number) {
  const output = new BoundedOutput(bound)
  let from = 0
  for (const to of [...cuts.filter(cut => cut < bytes.length).sort((a, b) => a - b), bytes.length]) {
    output.push(bytes.subarray(from, to))
    from = to
  }
  return output.captured()
}

t.test('kept and dropped make the whole, however the stream is cut', async t => {
  fc.assert(
    fc.property(chunked, ([bytes, cuts, bound]) => {
      const is = keep(bytes, cuts, bound)
      const once = keep(bytes, [], bound)
      const [head, tail] = [Buffer.from(is.head), Buffer.from(is.tail)]
      return (
        head.length + tail.length + is.droppedBytes === bytes.length &&
        head.length + tail.length <= bound &&
        is.droppedBytes > 0 === bytes.length > bound &&
        head.equals(bytes.subarray(0, head.length)) &&
        tail.equals(bytes.subarray(bytes.length - tail.length)) &&
        head.equals(once.head) &&
        tail.equals(once.tail)
      )
    }),
  )
  t.pass()
})

t.test('text that is UTF-8 stays UTF-8 when it is cut', async t => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 300 }), fc.integer({ min: 8, max: 200 }), (text, bound) => {
      const well = Buffer.from(text).toString()
      return renderCaptured(keep(Buffer.from(well), [], bound)).invalidBytes === 0
    }),
  )
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), bytes => {
      const { text, invalidBytes } = renderCaptured(keep(bytes, [], 100))
      let valid = true
      try {
        new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
      } catch {
        valid = false
      }
      return valid === (invalidBytes === 0) && (!valid || text === Buffer.from(bytes).toString())
    }),
  )
  t.pass()
})
