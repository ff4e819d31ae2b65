/** What is wrong with a line of a record, an outcome record, a doctor's report or a line of a session, by the published schemas. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { isJsonObject } from '../../src/json.js'
import { projectRoot } from './root.js'

type Name = 'event' | 'outcome' | 'doctor' | 'session'

let ajv: Ajv2020 | undefined

/** Read when it is asked for first: most tests look at no record. */
function schemas(): Ajv2020 {
  if (ajv !== undefined) return ajv
  ajv = new Ajv2020({ allowUnionTypes: true, verbose: true })
  formats.default(ajv, ['date-time'])
  for (const name of ['event', 'outcome', 'doctor', 'session'] satisfies Name[]) {
    const text = readFileSync(join(projectRoot, 'native-profiles', `${name}.schema.json`), 'utf8')
    ajv.addSchema(JSON.parse(text) as object, name)
  }
  return ajv
}

/** Null: it is an event. Otherwise every place that is wrong, with what stands there. */
export function eventProblem(value: unknown): string | null {
  return problem('event', value)
}

/** Null: it is the outcome record of `exec`. */
export function outcomeProblem(value: unknown): string | null {
  return problem('outcome', value)
}

/** Null: it is a line of a session, the header or another. */
export function sessionProblem(value: unknown): string | null {
  return problem('session', value)
}

/** Null: it is the report of `doctor --json`. */
export function doctorProblem(value: unknown): string | null {
  return problem('doctor', value)
}

/** Held to the definition of its kind where it has one: that none of all kinds fits would say nothing. */
function problem(name: Name, value: unknown): string | null {
  const kind = isJsonObject(value) && typeof value.kind === 'string' ? value.kind : undefined
  const validate = schemas().getSchema(kind === undefined ? name : `${name}#/$defs/${encodeURIComponent(kind)}`)
  if (validate === undefined) return `no ${name} of kind ${JSON.stringify(kind)}`
  if (validate(value) === true) return null
  const told = (validate.errors ?? []).map(({ instancePath, message, params, data }) => {
    const what = JSON.stringify(data)?.slice(0, 200)
    return `${instancePath || '/'} ${message} ${JSON.stringify(params)}: ${what}`
  })
  return `${kind ?? name}: ${told.join('\n')}`
}
