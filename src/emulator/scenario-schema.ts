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
                anyOf: [{ type: 'string' }, strings],
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
                type: 'object',
                additionalProperties: false,
                required: ['input', 'output'],
                properties: { input: count, output: count, cached: count },
                description: 'Absent: the answer reports none.',
              },
              incomplete: { type: 'string', minLength: 1, description: 'The reason of ending early.' },
            },
          },
          fault: {
            type: 'object',
            additionalProperties: false,
            properties: {
              status: { type: 'integer', minimum: 300, maximum: 599, description: 'Answered in place of the reply.' },
              retry_after: { type: ['string', 'number'], description: 'The Retry-After header, as written.' },
              close_after_bytes: { ...count, description: 'The connection is cut after so many bytes of the body.' },
              stall_ms: { ...milliseconds, description: 'Silence after the first event.' },
              garbage: {
                type: ['boolean', 'string'],
                description: 'A body that is no event stream, in place of the reply.',
              },
              chunk_bytes: { type: 'integer', minimum: 1, description: 'The body is written in pieces of this size.' },
              delay_ms: { ...milliseconds, description: 'Silence before the status line.' },
            },
          },
        },
      },
    },
    // biome-ignore lint/suspicious/noThenProperty: the document's own key
    then: afterwards, // oxlint-disable-line unicorn/no-thenable
  },
} as const
