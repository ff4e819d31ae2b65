/**
 * Call arguments against an entry's schema. The validator is loaded with the first call and compiled once for each
 * schema object, so a run that calls no tool pays for neither.
 */
import type { ErrorObject, ValidateFunction } from 'ajv'
import type { JsonObject } from '../json.js'

interface Compiler {
  compile(schema: JsonObject): ValidateFunction
}

let compiler: Promise<Compiler> | undefined
const compiled = new WeakMap<JsonObject, ValidateFunction>()

/** 2020-12, for `prefixItems`. No coercion and no defaults: what the model sent is what is judged. */
async function loadCompiler(): Promise<Compiler> {
  const { Ajv2020 } = await import('ajv/dist/2020.js')
  return new Ajv2020({ strict: false, validateSchema: false, verbose: true })
}

/**
 * Null when `args` fit `schema`; otherwise one line that names the argument and what is expected there,
 * e.g. `arguments.limit must be an integer of at least 1; it is 0`.
 */
export async function misfit(schema: JsonObject, args: JsonObject): Promise<string | null> {
  let validate = compiled.get(schema)
  if (validate === undefined) {
    compiler ??= loadCompiler()
    validate = (await compiler).compile(schema)
    compiled.set(schema, validate)
  }
  if (validate(args)) return null
  const first = validate.errors?.[0]
  return first === undefined ? 'arguments do not fit the schema' : told(first)
}

/** `/argv/0` as `arguments.argv[0]`. */
function place(pointer: string): string {
  const steps = pointer.split('/').slice(1)
  return `arguments${steps.map(step => (/^\d+$/.test(step) ? `[${step}]` : `.${step}`)).join('')}`
}

function told(error: ErrorObject): string {
  const where = place(error.instancePath)
  const params = error.params as Record<string, unknown>
  switch (error.keyword) {
    case 'required':
      return `${where}.${String(params.missingProperty)} is required`
    case 'additionalProperties': {
      const known = Object.keys((error.parentSchema?.properties ?? {}) as object).join(', ')
      return `${where}.${String(params.additionalProperty)} is not known here; known: ${known}`
    }
    case 'enum':
      return `${where} must be one of ${JSON.stringify(params.allowedValues)}; it is ${shown(error.data)}`
    default:
      return `${where} ${error.message ?? 'does not fit'}; it is ${shown(error.data)}`
  }
}

function shown(value: unknown): string {
  const whole = JSON.stringify(value) ?? 'undefined'
  return whole.length <= 80 ? whole : `${whole.slice(0, 80)}…`
}
