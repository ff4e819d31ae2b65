/** What passes between the operator's terminal and a program: the keys that leave, the modes to undo, a line typed in raw mode. */
import fc from 'fast-check'
import t from 'tap'
import { LeaveKeys } from '../../src/cli/leave-keys.js'
import { LineEditor } from '../../src/cli/line-editor.js'
import { ScreenModes } from '../../src/cli/screen-modes.js'

const bytes = (text: string): Uint8Array => Buffer.from(text, 'latin1')
const text = (of: Uint8Array): string => Buffer.from(of).toString('latin1')

/** `reads` are [bytes, ms since the one before]. */
function typed(...reads: readonly (readonly [string, number?])[]) {
  let now = 5_000
  let leaves = 0
  const keys = new LeaveKeys(
    () => now,
    () => {
      leaves++
    },
  )
  const passed = reads.map(([read, after = 0]) => {
    now += after
    return text(keys.push(bytes(read)))
  })
  return { leaves, passed: passed.join('') }
}

const KITTY = '\u001b[93;5u'

const LEAVING: readonly { name: string; reads: [string, number?][]; leaves: number; passed: string }[] = [
  { name: 'twice in one read', reads: [['a\u001d\u001db']], leaves: 1, passed: 'a\u001d' },
  { name: 'twice within a second', reads: [['\u001d'], ['\u001d', 999]], leaves: 1, passed: '\u001d' },
  { name: 'twice, a second apart', reads: [['\u001d'], ['\u001d', 1_000]], leaves: 0, passed: '\u001d\u001d' },
  { name: 'once', reads: [['x\u001dy'], ['z', 10]], leaves: 0, passed: 'x\u001dyz' },
  { name: 'with other keys between', reads: [['\u001d'], ['ab', 100], ['\u001d', 100]], leaves: 1, passed: '\u001dab' },
  { name: 'again, for an end without grace', reads: [['\u001d\u001d'], ['\u001d', 500]], leaves: 2, passed: '\u001d' },
  { name: 'all of that in one read', reads: [['a\u001d\u001d\u001db']], leaves: 2, passed: 'a\u001d' },
  { name: 'as kitty spells it', reads: [[KITTY], [KITTY, 300]], leaves: 1, passed: KITTY },
  {
    name: 'with its event',
    reads: [['\u001b[93;5:1u\u001b[93;5:3u'], ['\u001b[93;5:1u', 9]],
    leaves: 1,
    passed: '\u001b[93;5:1u\u001b[93;5:3u',
  },
  {
    name: 'a release is no press',
    reads: [['\u001b[93;5:1u'], ['\u001b[93;5:3u', 9]],
    leaves: 0,
    passed: '\u001b[93;5:1u\u001b[93;5:3u',
  },
  {
    name: 'with num lock and other layouts',
    reads: [['\u001b[93::93;133u\u001b[93;69:2u']],
    leaves: 1,
    passed: '\u001b[93::93;133u',
  },
  {
    name: 'Ctrl-Alt-] is another key',
    reads: [['\u001b[93;7u\u001b[93;7u']],
    leaves: 0,
    passed: '\u001b[93;7u\u001b[93;7u',
  },
  {
    name: 'as modifyOtherKeys spells it',
    reads: [['\u001b[27;5;93~\u001b[27;5;93~']],
    leaves: 1,
    passed: '\u001b[27;5;93~',
  },
  { name: 'in two spellings', reads: [['\u001d'], [KITTY, 10]], leaves: 1, passed: '\u001d' },
  {
    name: 'a plain ] is another key',
    reads: [[']]\u001b[93u\u001b[93u']],
    leaves: 0,
    passed: ']]\u001b[93u\u001b[93u',
  },
]

for (const { name, reads, leaves, passed } of LEAVING) {
  t.test(`Ctrl-] ${name}`, async t => t.same(typed(...reads), { leaves, passed }))
}

t.test('keys that leave are found however reads are cut, and nothing else is held back', async t => {
  const piece = fc.constantFrom('a', '\u001b[A', '\u001d', KITTY, '\u001b', '\u001b[27;5;93~', '[93;5u')
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), fc.nat(7), (pieces, size) => {
      const all = pieces.join('')
      const cut = all.match(new RegExp(`[^]{1,${size + 1}}`, 'g')) ?? []
      const whole = typed([all])
      const apart = typed(...cut.map((read): [string] => [read]))
      if (whole.leaves === 0) t.same(apart, { leaves: 0, passed: all })
      else t.ok(apart.leaves > 0, JSON.stringify(all))
    }),
    { numRuns: 300 },
  )
})

const ESC = '\u001b'
const UNDOING: readonly { name: string; shown: string; undo: string }[] = [
  { name: 'nothing', shown: 'plain\r\n', undo: '' },
  {
    name: 'an alternate screen and a hidden cursor',
    shown: `${ESC}[?1049h${ESC}[?25l`,
    undo: `${ESC}[?1049l${ESC}[?25h`,
  },
  { name: 'what was undone already', shown: `${ESC}[?1049h${ESC}[?25l x ${ESC}[?25h${ESC}[?1049l`, undo: '' },
  {
    name: 'mouse and paste in one sequence',
    shown: `${ESC}[?1002;1006;2004h`,
    undo: `${ESC}[?1002l${ESC}[?1006l${ESC}[?2004l`,
  },
  { name: 'the keypad', shown: `${ESC}=`, undo: `${ESC}>` },
  { name: 'colours left on', shown: `${ESC}[1;31mred`, undo: `${ESC}[m` },
  { name: 'colours reset', shown: `${ESC}[31mred${ESC}[0m`, undo: '' },
  { name: 'margins', shown: `${ESC}[2;10r`, undo: `${ESC}7${ESC}[r${ESC}8` },
  { name: 'kitty keys, pushed twice', shown: `${ESC}[>1u${ESC}[>5u`, undo: `${ESC}[<2u${ESC}[=0u` },
  { name: 'kitty keys, popped', shown: `${ESC}[>1u${ESC}[<u`, undo: '' },
  { name: 'modifyOtherKeys', shown: `${ESC}[>4;2m`, undo: `${ESC}[>4m` },
  { name: 'a full reset', shown: `${ESC}[?1049h${ESC}=${ESC}[31m${ESC}c`, undo: '' },
  { name: 'modes that are not in the table', shown: `${ESC}[?5h${ESC}[4h`, undo: '' },
]

for (const { name, shown, undo } of UNDOING) {
  t.test(`modes: ${name}`, async t => {
    for (const size of [1, 2, 7, 1_000]) {
      const modes = new ScreenModes()
      for (let at = 0; at < shown.length; at += size) modes.push(bytes(shown.slice(at, at + size)))
      t.equal(modes.undo(), undo, `${size} bytes at a time`)
    }
  })
}

/** What stands on the screen and what was answered; undefined: not done. */
function edited(keys: string) {
  const editor = new LineEditor()
  let echo = ''
  let line: string | null | undefined
  for (const byte of Buffer.from(keys)) {
    const did = editor.take(byte)
    if (did.kind === 'going-on') echo += text(did.echo)
    else line ??= did.line
  }
  return { echo: Buffer.from(echo, 'latin1').toString('utf8'), line }
}

const LINES: readonly { keys: string; line: string | null | undefined; echo?: string }[] = [
  { keys: 'y\r', line: 'y', echo: 'y' },
  { keys: 'yes\n', line: 'yes', echo: 'yes' },
  { keys: '\r', line: '', echo: '' },
  { keys: '\u0004', line: null },
  { keys: 'y\u0004', line: 'y' },
  { keys: 'n\u007fy\r', line: 'y', echo: 'n\b \by' },
  { keys: '\u0008\u007fy\r', line: 'y', echo: 'y' },
  { keys: 'no\u0015yes\r', line: 'yes', echo: 'no\b \b\b \byes' },
  { keys: 'é\u007fa\r', line: 'a', echo: 'é\b \ba' },
  { keys: '\u0001\u0007y\r', line: 'y', echo: 'y' },
  { keys: 'half', line: undefined },
]

t.test('a line typed in raw mode', async t => {
  for (const { keys, line, echo } of LINES) {
    const did = edited(keys)
    t.equal(did.line, line, JSON.stringify(keys))
    if (echo !== undefined) t.equal(did.echo, echo, JSON.stringify(keys))
  }
  t.equal(edited(`${'x'.repeat(5_000)}\r`).line?.length, 1_024, 'a line is bounded')
})
