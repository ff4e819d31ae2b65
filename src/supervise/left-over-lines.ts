/** The lines of a left-over record: what is written, and what is believed when it is read. Pure. */
import { isJsonObject, type JsonObject } from '../json.js'

/** The first line: whose record it is. */
export interface RunLine {
  readonly version: 1
  /** 16 hex digits. */
  readonly run_id: string
  readonly pid: number
  readonly start_time: string
  readonly boot_id: string
  /** Of Linux, decimal: pids of another namespace mean nothing here. Null where there are none. */
  readonly pid_namespace: string | null
  /** What everything that the run launches carries as `HARNESS_GUARD`. */
  readonly cookie: string
  /** RFC 3339, UTC. */
  readonly started_at: string
}

/** One launch that does not die with us by itself. */
export interface LaunchLine {
  readonly launch_id: string
  readonly pid: number
  readonly start_time: string
  readonly boot_id: string
  readonly cookie: string
  readonly started_at: string
  readonly purpose: string
}

export interface LeftOverRecord {
  readonly run: RunLine
  readonly launches: readonly LaunchLine[]
}

type Shape = Readonly<Record<string, (value: unknown) => boolean>>

const isPid = (value: unknown): boolean => typeof value === 'number' && Number.isInteger(value) && value > 1
const matches =
  (pattern: RegExp) =>
  (value: unknown): boolean =>
    typeof value === 'string' && pattern.test(value)
const isTime = matches(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
const isText = matches(/^[\x20-\x7e]{1,64}$/)
const isCookie = matches(/^\d{1,10}-[0-9a-f]{24}$/)

const LAUNCH: Shape = {
  launch_id: isText,
  pid: isPid,
  start_time: isText,
  boot_id: isText,
  cookie: isCookie,
  started_at: isTime,
  purpose: isText,
}

/** A run may be pid 1. */
const RUN: Shape = {
  version: value => value === 1,
  run_id: matches(/^[0-9a-f]{16}$/),
  pid: value => value === 1 || isPid(value),
  start_time: isText,
  boot_id: isText,
  pid_namespace: value => value === null || matches(/^\d{1,20}$/)(value),
  cookie: isCookie,
  started_at: isTime,
}

/**
 * The record in `text`, null where any line is not what we write. A last line that is not whole is left out: whoever wrote
 * it was killed meanwhile. A launch of another boot or cookie than the run's is no launch of that run.
 */
export function parseRecord(text: string): LeftOverRecord | null {
  const lines = text.split('\n')
  lines.pop()
  const [first, ...rest] = lines.map(line => parsed(line))
  const run = first && fits<RunLine>(first, RUN)
  if (!run) return null
  const launches = rest.map(line => line && fits<LaunchLine>(line, LAUNCH))
  const own = launches.filter(launch => launch?.boot_id === run.boot_id && launch.cookie === run.cookie)
  return own.length === launches.length ? { run, launches: own.filter(launch => launch !== null) } : null
}

function parsed(line: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(line)
    return isJsonObject(value) ? value : null
  } catch {
    return null
  }
}

/** Keys beside those of the shape are a later version's. */
function fits<Line>(value: JsonObject, shape: Shape): Line | null {
  return Object.entries(shape).every(([key, holds]) => holds(value[key])) ? (value as Line) : null
}
