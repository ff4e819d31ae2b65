/** Reads values out of the tree of a flow document, each with its place in what is refused. Pure. */
import { Refusal } from '../errors.js'
import { nearest } from '../hooks/nearest.js'
import { kindOf, type Member, type Placed } from '../hooks/strict-json.js'

/** The members of one object, all of them known: few enough to be looked through. */
export class Members {
  constructor(
    private readonly reader: Reader,
    private readonly value: Extract<Placed, { kind: 'object' }>,
    private readonly what: string,
  ) {}

  get(key: string): Placed | undefined {
    for (const { name, value } of this.value.members) if (name === key) return value
    return undefined
  }

  /** The first that is not among `known`. */
  beside(known: readonly string[]): Member | undefined {
    for (const member of this.value.members) if (!known.includes(member.name)) return member
    return undefined
  }

  /** Throws `bad-document` where it is absent. */
  required(key: string): Placed {
    const member = this.get(key)
    if (member !== undefined) return member
    throw this.reader.bad(this.value, `${this.what} has no "${key}": give it one`)
  }
}

export class Reader {
  constructor(private readonly file: string) {}

  /** `bad-document` at the place of `value`. */
  bad({ place: { line, column } }: Placed, why: string): Refusal<'bad-document'> {
    const place = `${line}:${column}`
    return new Refusal('bad-document', { file: this.file, place }, `${this.file}:${place}: ${why}`)
  }

  /** Throws for another kind of value, and for a key that is not among `known`, with the nearest one that is. */
  object(value: Placed, what: string, known: readonly string[]): Members {
    if (value.kind !== 'object')
      throw this.bad(value, `${what} is ${kindOf(value)}: write an object with ${known.join(', ')}`)
    const members = new Members(this, value, what)
    const stray = members.beside(known)
    if (stray !== undefined) {
      const near = nearest(stray.name, known)
      const help = near === null ? `known here: ${known.join(', ')}` : `did you mean ${near}?`
      const name = JSON.stringify(stray.name.slice(0, 80))
      throw this.bad({ ...stray.value, place: stray.place }, `${what} has the unknown key ${name}: ${help}`)
    }
    return members
  }

  text(value: Placed, what: string): string {
    if (value.kind === 'string') return value.value
    throw this.bad(value, `${what} is ${kindOf(value)}: write a text, in quotes where needed`)
  }

  /** Absent: no entries. */
  list(value: Placed | undefined, what: string, example: string): readonly Placed[] {
    if (value === undefined) return []
    if (value.kind === 'array') return value.items
    throw this.bad(value, `${what} is ${kindOf(value)}, not a list: write for example ${example}`)
  }

  /** Null: no whole number of 0 or more. YAML is read as text, so digits are a number as well. */
  whole(value: Placed): number | null {
    if (value.kind === 'number') return Number.isSafeInteger(value.value) && value.value >= 0 ? value.value : null
    return value.kind === 'string' && /^\d{1,15}$/.test(value.value) ? Number(value.value) : null
  }
}
