/** The wires by name. */
import { randomUUID } from 'node:crypto'
import { decodeChat } from './chat-reply.js'
import { encodeChat } from './chat-request.js'
import { decodeMessages } from './messages-reply.js'
import { encodeMessages } from './messages-request.js'
import type { WireName } from './port.js'
import { decodeResponses } from './responses-reply.js'
import { encodeResponses } from './responses-request.js'
import type { Wire } from './wire.js'

export const WIRES: Readonly<Record<WireName, Wire>> = {
  'openai-responses': {
    path: '/responses',
    headers: sessionId => ({
      originator: 'harness',
      'session-id': sessionId,
      'x-client-request-id': randomUUID(),
    }),
    keyHeader: 'authorization',
    encode: encodeResponses,
    decode: decodeResponses,
  },
  'anthropic-messages': {
    path: '/messages',
    headers: () => ({ 'anthropic-version': '2023-06-01' }),
    keyHeader: 'x-api-key',
    encode: encodeMessages,
    decode: decodeMessages,
  },
  'openai-chat': {
    path: '/chat/completions',
    headers: () => ({}),
    keyHeader: 'authorization',
    encode: encodeChat,
    decode: decodeChat,
  },
}
