/**
 * Regular expressions of an answer schema. The schema is the operator's and the strings are the model's: with an engine that
 * goes back and tries again, one string of thirty characters can hold a run for hours, so the engine in linear time is used
 * wherever it knows the expression.
 */
import type { RE2JS } from 're2js'

export interface Pattern {
  test(text: string): boolean
  /** Tells patterns apart: the validator keeps them by it. */
  toString(): string
}

export interface CompiledPattern {
  readonly pattern: Pattern
  /** Compiled by the engine in linear time. */
  readonly linear: boolean
}

/** Null: no expression in either engine. */
export function compilePattern(source: string, engine: typeof RE2JS): CompiledPattern | null {
  const native = nativePattern(source)
  // White space means more characters in JSON Schema's dialect (ECMA-262) than in the other, and \u is not known there.
  const linear = native === null || /\\[sSu]/.test(source) ? null : linearPattern(source, engine)
  if (linear !== null) return { pattern: linear, linear: true }
  return native === null ? null : { pattern: native, linear: false }
}

function linearPattern(source: string, engine: typeof RE2JS): Pattern | null {
  try {
    const compiled = engine.compile(source)
    return { test: text => compiled.test(text), toString: () => `/${source}/` }
  } catch {
    return null
  }
}

/** With `u` as the drafts say, without it for those who wrote what only the older syntax takes. */
function nativePattern(source: string): Pattern | null {
  for (const flags of ['u', '']) {
    try {
      return new RegExp(source, flags)
    } catch {
      // The next flags, or none fits.
    }
  }
  return null
}
