/** Who wins when several tables say a value. */
import t from 'tap'
import { type Layer, originText, providerLayer, type Resolved, resolveLayers } from '../../src/config/layers.js'
import type { OptionValue } from '../../src/config/profile-keys.js'

const RIVALS = new Map([
  ['--confine', ['--substrate-embedded']],
  ['--substrate-embedded', ['--confine']],
  ['--yes', ['--approve-up-to']],
  ['--approve-up-to', ['--yes']],
  ['--api-key-env', ['--oauth-token-file', '--oauth-token-pointer']],
  ['--oauth-token-file', ['--api-key-env']],
])

function layer(
  origin: Layer['origin'],
  values: Readonly<Record<string, OptionValue>>,
  write: boolean | null = null,
): Layer {
  return { origin, values: new Map(Object.entries(values)), write }
}

const builtIn = (values: Readonly<Record<string, OptionValue>>) =>
  layer({ kind: 'built-in-provider', name: 'x' }, values)
const provider = (values: Readonly<Record<string, OptionValue>>) => layer({ kind: 'provider', name: 'x' }, values)
const defaults = (values: Readonly<Record<string, OptionValue>>, write?: boolean) =>
  layer({ kind: 'default' }, values, write ?? null)
const profile = (name: string, values: Readonly<Record<string, OptionValue>>, write?: boolean) =>
  layer({ kind: 'profile', name }, values, write ?? null)
const typed = (values: Readonly<Record<string, OptionValue>>) => layer({ kind: 'typed' }, values)

const SCOPE = ['.git/**=denied', '**=allowed']

const CASES: { name: string; layers: Layer[]; gives: Record<string, readonly [OptionValue, string]> }[] = [
  {
    name: 'each layer wins over those before it',
    layers: [
      builtIn({ '--base-url': 'a', '--wire': 'a', '--model': 'a' }),
      provider({ '--wire': 'b', '--model': 'b' }),
      defaults({ '--model': 'c', '--max-turns': '3', '--log-level': 'info' }),
      profile('p', { '--max-turns': '4', '--log-level': 'warn' }),
      profile('q', { '--log-level': 'error' }),
    ],
    gives: {
      '--base-url': ['a', 'built-in provider x'],
      '--wire': ['b', '[providers.x]'],
      '--model': ['c', '[default]'],
      '--max-turns': ['4', 'profile p'],
      '--log-level': ['error', 'profile q'],
    },
  },
  {
    name: 'what is typed wins over the last profile',
    layers: [profile('p', { '--model': 'a' }), typed({ '--model': 'b' })],
    gives: { '--model': ['b', 'command line'] },
  },
  {
    name: 'a list is replaced whole, also by an empty one',
    layers: [defaults({ '--read': ['/a', '/b'], '--hide': ['/c'] }), profile('p', { '--read': ['/d'], '--hide': [] })],
    gives: { '--read': [['/d'], 'profile p'], '--hide': [[], 'profile p'] },
  },
  {
    name: 'a false switch takes back',
    layers: [defaults({ '--cache': true }), profile('p', { '--cache': false })],
    gives: { '--cache': [false, 'profile p'] },
  },
  {
    name: 'another kind of credential sets the first aside',
    layers: [
      builtIn({ '--api-key-env': 'K' }),
      provider({ '--oauth-token-file': '/t', '--oauth-token-pointer': '/p' }),
    ],
    gives: { '--oauth-token-file': ['/t', '[providers.x]'], '--oauth-token-pointer': ['/p', '[providers.x]'] },
  },
  {
    name: 'a typed rival sets a profile aside',
    layers: [
      defaults({ '--approve-up-to': 'low', '--confine': 'auto' }),
      typed({ '--yes': true, '--substrate-embedded': true }),
    ],
    gives: { '--yes': [true, 'command line'], '--substrate-embedded': [true, 'command line'] },
  },
  {
    name: 'write turns on a boundary and a scope',
    layers: [profile('p', {}, true)],
    gives: { '--substrate-embedded': [true, 'profile p'], '--write-scope': [SCOPE, 'profile p'] },
  },
  {
    name: 'write keeps what is chosen',
    layers: [defaults({ '--confine': 'bubblewrap', '--write-scope': ['a=allowed'] }), profile('p', {}, true)],
    gives: { '--confine': ['bubblewrap', '[default]'], '--write-scope': [['a=allowed'], '[default]'] },
  },
  {
    name: 'write wins over off of an earlier table',
    layers: [defaults({ '--confine': 'off' }), profile('p', {}, true)],
    gives: { '--substrate-embedded': [true, 'profile p'], '--write-scope': [SCOPE, 'profile p'] },
  },
  {
    name: 'and not over a typed one',
    layers: [profile('p', {}, true), typed({ '--confine': 'off' })],
    gives: { '--confine': ['off', 'command line'], '--write-scope': [SCOPE, 'profile p'] },
  },
  {
    name: 'a later false takes write back',
    layers: [defaults({}, true), profile('p', {}, false)],
    gives: {},
  },
]

for (const { name, layers, gives } of CASES) {
  t.test(name, async t => {
    const told = ([flag, { value, origin }]: [string, Resolved]) => [flag, [value, originText(origin)]]
    t.strictSame(Object.fromEntries([...resolveLayers(layers, RIVALS)].map(told)), gives)
  })
}

t.test('a provider as a layer: what it does not say is not there', async t => {
  const { values } = providerLayer(
    { wire: 'openai-chat', tokenFile: '/t', baseUrl: null },
    { kind: 'provider', name: 'x' },
  )
  t.strictSame(
    [...values],
    [
      ['--wire', 'openai-chat'],
      ['--oauth-token-file', '/t'],
    ],
  )
})
