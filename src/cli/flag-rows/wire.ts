/** Which model is asked, over which wire, with which credential. */
import { STREAM_IDLE_MS_DEFAULT } from '../../bounds.js'
import { WIRE_NAMES } from '../../wires/port.js'
import { built, type Flag, MODEL, repeat } from './row.js'

const KEY_SOURCES = ['--api-key-file', '--api-key-env', '--oauth-token-file', '--oauth-token-env']

function oneOf(name: string): Partial<Flag> {
  return { conflicts: KEY_SOURCES.filter(other => other !== name) }
}

export const WIRE_FLAGS: readonly Flag[] = [
  ...built(MODEL, [
    ['--provider', 'NAME', 'anthropic (or claude), openai, ollama, or demo, which needs no key and no network'],
    ['--base-url', 'URL', 'endpoint, e.g. http://127.0.0.1:8080/v1'],
    ['--model', 'NAME', 'model to ask for'],
    [
      '--wire',
      'WIRE',
      'protocol of the endpoint; default that of the provider, else openai-responses',
      { choices: WIRE_NAMES },
    ],
    ['--temperature', 'N', '0.0 to 2.0; not sent when absent'],
    ['--top-p', 'N', 'above 0 up to 1; not sent when absent'],
    ['--reasoning-effort', 'WORD', 'passed on as it is; not sent when absent'],
    ['--api-key-file', 'FILE', 'read the API key from FILE at every request', oneOf('--api-key-file')],
    ['--api-key-env', 'NAME', 'read the API key from the variable NAME', oneOf('--api-key-env')],
    ['--oauth-token-file', 'FILE', 'read a bearer token from FILE', oneOf('--oauth-token-file')],
    ['--oauth-token-env', 'NAME', 'read a bearer token from the variable NAME', oneOf('--oauth-token-env')],
    ['--oauth-token-pointer', 'POINTER', 'JSON pointer to the token in its source, e.g. /tokens/access'],
    ['--header', 'NAME=ENV', 'send header NAME with the value of variable ENV', repeat],
    [
      '--stream-idle-ms',
      'MS',
      'give a silent stream up after MS between bytes',
      { fallback: `${STREAM_IDLE_MS_DEFAULT}` },
    ],
  ]),
]
