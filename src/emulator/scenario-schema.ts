/**
 * The published schema of a scenario document (decisions 13). `native-profiles/scenario.schema.json` is this object,
 * held equal by a test; here it is code so that no file has to be found at run time.
 */
const count = { type: 'integer', minimum: 0 } as const
const milliseconds = { type: 'integer', minimum: 0, maximum: 86_400_000 } as const
const afterwards = {
  enum: ['repeat-last', 'refuse'],
  default: 'refuse',
  description: 'What requests after the last turn get.',
} as const
const strings = { type: 'array', items: { type: 'string' } } as const

export const SCENARIO_SCHEMA = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Emulator scenario',
  description:
    'What a scripted model endpoint answers, request by request. Each accepted request plays one turn, a faulted one too. Nothing in it belongs to one wire.',
  type: 'object',
  additionalProperties: false,
  required: ['version', 'model', 'turns'],
  properties: {
    version: { const: 1 },
    model: { type: 'string', minLength: 1, description: 'The model that the answers name.' },
    turns: {
      type: 'array',
      minItems: 1,
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['reply'],
        properties: {
          expect: {
            type: 'object',
            additionalProperties: false,
            description: 'What the request must hold; otherwise it is answered with 400 and the difference.',
            properties: {
              contains: {
                type: ['string', 'array'],
                items: { type: 'string' },
                description: 'Texts, each of which occurs in the instruction, a message or a tool result.',
              },
              tools: { ...strings, description: 'Tools that must be published, among others.' },
              results: {
                type: 'array',
                items: {
                  type: 'object',
                  additionalProperties: false,
                  required: ['call'],
                  properties: {
                    call: {
                      type: 'string',
                      description: "Id of a call, or a tool's name for the latest call of that tool.",
                    },
                    failed: { type: 'boolean' },
                    contains: { type: 'string' },
                  },
                },
              },
            },
          },
          reply: {
            type: 'object',
            additionalProperties: false,
            properties: {
              text: { type: 'string' },
              reasoning: { type: 'string' },
              refusal: { type: 'string', description: 'The model declines, in these words or with this explanation.' },
              calls: {
                type: 'array',
                items: {
                  type: 'object',
                  additionalProperties: false,
                  required: ['name', 'arguments'],
                  properties: {
                    name: { type: 'string', minLength: 1 },
                    arguments: {
                      type: ['object', 'string'],
                      description: 'An object, or the text itself where it is to be malformed.',
                    },
                    id: { type: 'string', minLength: 1, description: 'Default: call_<turn>_<place>, both from 1.' },
                  },
                },
              },
              usage: {
                type: ['object', 'null'],
                additionalProperties: false,
                required: ['input', 'output'],
                properties: {
                  input: { ...count, description: 'Tokens of the whole input; both cache figures are parts of it.' },
                  output: count,
                  cached: { ...count, description: 'Read from the cache.' },
                  cache_written: { ...count, description: 'Written to the cache.' },
                },
                description:
                  'Absent: one token for every 4 bytes, of the request as input, of what is said as output. null: the answer reports none.',
              },
              incomplete: {
                type: 'string',
                minLength: 1,
                description:
                  'The reason of ending early, as the Responses wire says it; max_output_tokens is translated for the others.',
              },
            },
          },
          fault: {
            type: 'object',
            additionalProperties: false,
            properties: {
              status: { type: 'integer', minimum: 300, maximum: 599, description: 'Answered in place of the reply.' },
              retry_after: { type: ['string', 'number'], description: 'The Retry-After header, as written.' },
              close_after_bytes: { ...count, description: 'The connection is cut after so many bytes of the body.' },
              error_after_events: {
                ...count,
                description:
                  "After so many events the stream ends with the wire's own error event; an answer that is no stream is an error 500.",
              },
              stall_ms: { ...milliseconds, description: 'Silence after the first event.' },
              garbage: {
                type: ['boolean', 'string'],
                description: 'A body that is no event stream, in place of the reply.',
              },
              chunk_bytes: { type: 'integer', minimum: 1, description: 'The body is written in pieces of this size.' },
              delay_ms: {
                ...milliseconds,
                description: 'Silence before the status line; with chunk_bytes also before each piece.',
              },
              framing: {
                type: 'array',
                items: { enum: ['comments', 'multiline', 'no-space', 'crlf', 'cr'] },
                description:
                  'The stream as other servers frame it: comments and further fields between events, data over several lines, no space after the colon, other ends of lines.',
              },
            },
          },
        },
      },
    },
    // biome-ignore lint/suspicious/noThenProperty: the document's own key
    then: afterwards, // oxlint-disable-line unicorn/no-thenable
  },
} as const
