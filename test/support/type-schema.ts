/**
 * Types of the sources → JSON Schema 2020-12, through the compiler that checks them. The published schemas are what this
 * says, so that neither can say something the other does not. Every object is closed; doc comments become descriptions.
 */
import { join } from 'node:path'
import ts from 'typescript'
import { projectRoot } from './root.js'

export type Schema = { readonly [key: string]: unknown }

/** Values whose form the type does not hold, by the key they stand under. Every other number is a count. */
const FORMS: Readonly<Record<string, Schema>> = {
  run_id: { type: 'string', pattern: '^[0-9a-f]{16}$' },
  sha256: { type: 'string', pattern: '^[0-9a-f]{64}$' },
  started_at: { type: 'string', format: 'date-time' },
  captured_at: { type: 'string', format: 'date-time' },
  duration_ms: { type: 'number', minimum: 0 },
  cpu_ms: { type: ['number', 'null'], minimum: 0 },
  operations: { type: 'array', minItems: 1, items: { type: 'string' } },
}

const COUNT: Schema = { type: 'integer', minimum: 0 }

/** Types that hold any JSON, by name. */
const OPEN: Readonly<Record<string, Schema>> = { Json: {}, JsonObject: { type: 'object' } }

export interface SchemaRequest {
  /** From the root of the project. */
  readonly file: string
  /** Exported type; a union becomes a choice between definitions. */
  readonly type: string
  readonly title: string
  readonly description: string
}

/** The schema documents of `requests`, in their order. One program for all: reading the libraries is what takes time. */
export function typeSchemas(requests: readonly SchemaRequest[]): Schema[] {
  const files = requests.map(({ file }) => join(projectRoot, file))
  const program = ts.createProgram(files, {
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    types: ['node'],
    typeRoots: [join(projectRoot, 'node_modules', '@types')],
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: true,
    noEmit: true,
  })
  const checker = program.getTypeChecker()
  return requests.map(({ file, type, title, description }) => {
    const source = program.getSourceFile(join(projectRoot, file))
    const module = source && checker.getSymbolAtLocation(source)
    const symbol = module && checker.getExportsOfModule(module).find(({ name }) => name === type)
    if (symbol === undefined) throw new Error(`${file} exports no ${type}`)
    return new Writer(checker, checker.getDeclaredTypeOfSymbol(symbol)).document(title, description)
  })
}

class Writer {
  readonly #defs: Record<string, Schema> = {}

  constructor(
    private readonly checker: ts.TypeChecker,
    private readonly root: ts.Type,
  ) {}

  document(title: string, description: string): Schema {
    const members = this.root.isUnion() ? inOrder(this.root.types) : [this.root]
    const choices = members.map(member => this.#define(this.#kindOf(member) ?? nameOf(member) ?? title, member))
    return {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      title,
      description,
      oneOf: choices,
      $defs: this.#defs,
    }
  }

  /** Of a member of a tagged union; undefined: it has no `kind`. */
  #kindOf(type: ts.Type): string | undefined {
    const kind = this.checker.getPropertyOfType(type, 'kind')
    const tag = kind && this.checker.getTypeOfSymbol(kind)
    return tag?.isStringLiteral() === true ? tag.value : undefined
  }

  #define(name: string, type: ts.Type): Schema {
    if (!(name in this.#defs)) {
      // The place is taken before the type is looked at: it may hold itself.
      this.#defs[name] = {}
      this.#defs[name] = this.#shape(type)
    }
    return { $ref: `#/$defs/${name}` }
  }

  #schema(type: ts.Type): Schema {
    if (type === this.root) return { $ref: '#' }
    const name = nameOf(type)
    const open = name === undefined ? undefined : OPEN[name]
    if (open !== undefined) return open
    return name === undefined ? this.#shape(type) : this.#define(name, type)
  }

  #shape(type: ts.Type): Schema {
    if (type.flags & ts.TypeFlags.Boolean) return { type: 'boolean' }
    if (type.flags & ts.TypeFlags.String) return { type: 'string' }
    if (type.flags & ts.TypeFlags.Number) return COUNT
    if (type.flags & ts.TypeFlags.Null) return { type: 'null' }
    if (type.isUnion()) return this.#union(type)
    if (type.isLiteral() || type.flags & ts.TypeFlags.BooleanLiteral) return { const: this.#literal(type) }
    if (this.checker.isArrayType(type)) {
      const [item] = this.checker.getTypeArguments(type as ts.TypeReference)
      if (item !== undefined) return { type: 'array', items: this.#schema(item) }
    }
    if (type.flags & (ts.TypeFlags.Object | ts.TypeFlags.Intersection)) return this.#object(type)
    throw new Error(`no schema for ${this.checker.typeToString(type)}`)
  }

  #literal(type: ts.Type): unknown {
    return type.isStringLiteral() || type.isNumberLiteral() ? type.value : this.checker.typeToString(type) === 'true'
  }

  #union(type: ts.UnionType): Schema {
    const members = inOrder(type.types.filter(({ flags }) => !(flags & ts.TypeFlags.Undefined)))
    const [only] = members
    if (members.length === 1 && only !== undefined) return this.#schema(only)
    if (members.every(member => member.flags & ts.TypeFlags.BooleanLiteral)) return { type: 'boolean' }
    const literals = members.filter(member => member.isLiteral())
    // Null is one value more where there is a list of values.
    const rest = members.filter(member => !member.isLiteral() && !(literals.length > 0 && isNull(member)))
    const values = literals.map(literal => this.#literal(literal)).sort((a, b) => (String(a) < String(b) ? -1 : 1))
    const listed = members.some(isNull) ? [...values, null] : values
    const choices = [...(literals.length === 0 ? [] : [{ enum: listed }]), ...rest.map(member => this.#schema(member))]
    const [first] = choices
    return choices.length === 1 && first !== undefined ? first : merged(choices)
  }

  #object(type: ts.Type): Schema {
    const properties: Record<string, Schema> = {}
    const required: string[] = []
    for (const property of [...this.checker.getPropertiesOfType(type)].sort(byPlace)) {
      const { name, flags } = property
      const own = this.#schema(this.checker.getTypeOfSymbol(property))
      const form = FORMS[name]
      // A form takes the place of the bare type it belongs to, and of no other.
      const value = form !== undefined && fits(own, form) ? form : own
      properties[name] = { ...value, ...this.#description(property) }
      if (!(flags & ts.SymbolFlags.Optional)) required.push(name)
    }
    return { ...this.#description(type.symbol), type: 'object', additionalProperties: false, required, properties }
  }

  #description(symbol: ts.Symbol | undefined): Schema {
    const parts = symbol?.getDocumentationComment(this.checker) ?? []
    const text = ts
      .displayPartsToString(parts)
      .replace(/\{@link ([^}]+)\}/g, '$1')
      .replace(/ \((?:contract|decisions)[^)]*\)/g, '')
      .replace(/\s+/g, ' ')
      .trim()
    return text === '' ? {} : { description: text }
  }
}

function isNull({ flags }: ts.Type): boolean {
  return (flags & ts.TypeFlags.Null) !== 0
}

/** A count is an integer, and an integer is a number. */
function fits({ type }: Schema, form: Schema): boolean {
  return JSON.stringify(type)?.replace('integer', 'number') === JSON.stringify(form.type)
}

/** The compiler orders a union by what it happened to meet first; the sources have an order that stays. */
function inOrder(types: readonly ts.Type[]): ts.Type[] {
  return [...types].sort((a, b) => byPlace(a.aliasSymbol ?? a.symbol, b.aliasSymbol ?? b.symbol))
}

function byPlace(a: ts.Symbol | undefined, b: ts.Symbol | undefined): number {
  const [one, other] = [placeOf(a), placeOf(b)]
  return one.file === other.file ? one.at - other.at : one.file < other.file ? -1 : 1
}

function placeOf(symbol: ts.Symbol | undefined): { readonly file: string; readonly at: number } {
  const [declaration] = symbol?.declarations ?? []
  if (declaration === undefined) return { file: '', at: 0 }
  return { file: declaration.getSourceFile().fileName, at: declaration.pos }
}

/** One `type` where nothing but the types differs, else a choice. */
function merged(choices: readonly Schema[]): Schema {
  const objects = choices.filter(choice => !('type' in choice) || 'properties' in choice || 'items' in choice)
  const [other, ...others] = choices.filter(choice => choice.type !== 'null')
  if (objects.length === 0 && other !== undefined && others.length === 0)
    return { ...other, type: [other.type, 'null'] }
  return { anyOf: choices }
}

/** The name that the sources gave; undefined for what is built in, written in place, or made from others (`Omit<…>`). */
function nameOf(type: ts.Type): string | undefined {
  const alias = type.aliasSymbol
  if (alias !== undefined) return type.aliasTypeArguments === undefined && isOurs(alias) ? alias.name : undefined
  const { symbol } = type
  return symbol !== undefined && symbol.flags & ts.SymbolFlags.Interface && isOurs(symbol) ? symbol.name : undefined
}

function isOurs(symbol: ts.Symbol): boolean {
  return symbol.declarations?.some(one => !one.getSourceFile().fileName.includes('node_modules')) ?? false
}
