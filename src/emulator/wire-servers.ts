/** The server side of each wire: where it listens, what it takes, how it answers and how it says no. Pure. */
import type { JsonObject } from '../json.js'
import type { WireName } from '../wires/port.js'
import { chatErrorFrame, chatStream, chatWhole } from './chat-answer.js'
import { readChatRequest } from './chat-check.js'
import { messagesErrorFrame, messagesStream, messagesWhole } from './messages-answer.js'
import { readMessagesRequest } from './messages-check.js'
import type { PlayedReply } from './played.js'
import type { ReadRequest } from './request.js'
import { responsesWhole } from './responses-answer.js'
import { readResponsesRequest } from './responses-check.js'
import { responsesErrorFrame, responsesStream } from './responses-stream.js'

export interface WireServer {
  /** The end of the path that is served; what comes before it is the client's base. */
  readonly path: string
  /** Headers without which the endpoint answers 400. Lower case. */
  readonly needsHeaders: readonly string[]
  readonly idHeader: string
  read(body: unknown): ReadRequest
  stream(played: PlayedReply): readonly string[]
  whole(played: PlayedReply): JsonObject
  /** Ends a stream that fails after `index` events. */
  errorFrame(message: string, index: number): string
  errorBody(status: number, message: string, param: string | null): JsonObject
}

const OPENAI_ERRORS: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  429: 'rate_limit_error',
}

function openAiError(status: number, message: string, param: string | null): JsonObject {
  const type = OPENAI_ERRORS[status] ?? (status >= 500 ? 'server_error' : 'invalid_request_error')
  return { error: { message, type, param, code: null } }
}

/** @see https://docs.anthropic.com/en/api/errors */
const ANTHROPIC_ERRORS: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  504: 'timeout_error',
  529: 'overloaded_error',
}

function anthropicError(status: number, message: string): JsonObject {
  const type = ANTHROPIC_ERRORS[status] ?? (status >= 500 ? 'api_error' : 'invalid_request_error')
  return { type: 'error', error: { type, message } }
}

export const WIRE_SERVERS: Readonly<Record<WireName, WireServer>> = {
  'openai-responses': {
    path: '/responses',
    needsHeaders: [],
    idHeader: 'x-request-id',
    read: readResponsesRequest,
    stream: responsesStream,
    whole: responsesWhole,
    errorFrame: responsesErrorFrame,
    errorBody: openAiError,
  },
  'anthropic-messages': {
    path: '/messages',
    needsHeaders: ['anthropic-version'],
    idHeader: 'request-id',
    read: readMessagesRequest,
    stream: messagesStream,
    whole: messagesWhole,
    errorFrame: messagesErrorFrame,
    errorBody: anthropicError,
  },
  'openai-chat': {
    path: '/chat/completions',
    needsHeaders: [],
    idHeader: 'x-request-id',
    read: readChatRequest,
    stream: chatStream,
    whole: chatWhole,
    errorFrame: chatErrorFrame,
    errorBody: openAiError,
  },
}
