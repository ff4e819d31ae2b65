/**
 * file_read, dir_list, file_write and file_edit (contract §8). Each takes a call's arguments and the reach of the run
 * and returns the outcome; the results' keys are the interface. All are synchronous: calls on one file take effect in
 * the order they are made (case H19).
 */
import { closeSync, lstatSync, opendirSync } from 'node:fs'
import {
  CREATED_FOLDERS_TOLD,
  EDIT_FILE_BYTES_MAX,
  LIST_ENTRIES_MAX,
  READ_BYTES_DEFAULT,
  READ_BYTES_MAX,
  READ_COUNT_LINES_BYTES_MAX,
} from '../bounds.js'
import { Refusal } from '../errors.js'
import type { JsonObject } from '../json.js'
import { openGuardedFile, replaceGuardedFile } from '../paths/guarded-file.js'
import { type GuardedFolder, openGuardedFolder, systemRefusal } from '../paths/guarded-folder.js'
import { join } from '../paths/resolve.js'
import { identityOf, shown } from '../paths/walk.js'
import { answering, bad, countArgument, textArgument } from './call-arguments.js'
import { editBytes } from './edit-bytes.js'
import { type FileReach, isHidden, labelOf, readable, readableFolder, writable } from './folders.js'
import type { ToolOutcome } from './port.js'
import { type LineRequest, type NumberedLines, readLines } from './read-lines.js'

const ANY_COUNT = Number.MAX_SAFE_INTEGER

/** Numbered lines of a plain file. `truncated`: there is more after the last line given, by `limit` or by `max_bytes`. */
export function fileRead(args: JsonObject, reach: FileReach): ToolOutcome {
  return answering(() => {
    const path = textArgument(args, 'path')
    const request = {
      offset: countArgument(args, 'offset', { min: 1, max: ANY_COUNT, absent: 1 }),
      limit: countArgument(args, 'limit', { min: 1, max: ANY_COUNT, absent: ANY_COUNT }),
      bytesMax: countArgument(args, 'max_bytes', { min: 1, max: READ_BYTES_MAX, absent: READ_BYTES_DEFAULT }),
    }
    const place = readable(path, reach)
    if (place instanceof Refusal) return place
    const file = openGuardedFile(place)
    if (file instanceof Refusal) return file
    try {
      return linesResult(path, Number(file.stat.size), request, readLines(file.fd, request))
    } catch (error) {
      return systemRefusal(error, place.landing.landed)
    } finally {
      closeSync(file.fd)
    }
  })
}

function linesResult(path: string, bytes: number, { offset }: LineRequest, read: NumberedLines): JsonObject | Refusal {
  const { text, from, to, counted, whole, cut } = read
  if (offset > Math.max(counted, 1)) {
    const there = whole ? `the file has ${counted} lines` : `only the first ${counted} lines (16 MiB) are looked at`
    return bad('offset', `offset ${offset} is past the end of ${shown(path)}: ${there}`)
  }
  const result = { path, bytes, truncated: !whole || to < counted, text }
  const lines = { from: counted === 0 ? 0 : from, to, total: whole ? counted : null }
  if (whole) return { ...result, lines, truncated_lines: cut }
  const note = `lines were counted in the first ${READ_COUNT_LINES_BYTES_MAX} bytes only`
  return { ...result, lines, truncated_lines: cut, lines_counted_to: counted, note }
}

/** The entries of a folder, sorted by name; links are named, not followed; `bytes` is null for what is no plain file. */
export function dirList(args: JsonObject, reach: FileReach): ToolOutcome {
  return answering(() => {
    const path = textArgument(args, 'path', '.')
    const place = readableFolder(path, reach)
    if (place instanceof Refusal) return place
    const folder = openGuardedFolder(place, 'refuse')
    if (folder instanceof Refusal) return folder
    try {
      const { names, truncated } = firstNames(folder, reach)
      return { path, entries: names.flatMap(name => entryOf(folder, name, reach)), truncated }
    } catch (error) {
      return systemRefusal(error, folder.path)
    } finally {
      folder.close()
    }
  })
}

/** The first names by sort order. A folder of any size is read through; only a bounded number of names is held. */
function firstNames(
  folder: GuardedFolder,
  reach: FileReach,
): { readonly names: readonly string[]; readonly truncated: boolean } {
  let names: string[] = []
  let truncated = false
  const trim = (): void => {
    names.sort()
    truncated ||= names.length > LIST_ENTRIES_MAX
    names = names.slice(0, LIST_ENTRIES_MAX)
  }
  const listing = opendirSync(folder.at(''))
  try {
    for (let entry = listing.readSync(); entry !== null; entry = listing.readSync()) {
      if (!isHidden(reach, join(folder.path, [entry.name]))) names.push(entry.name)
      if (names.length > 20 * LIST_ENTRIES_MAX) trim()
    }
  } finally {
    listing.closeSync()
  }
  trim()
  return { names, truncated }
}

/** None for an entry that went away meanwhile or is hidden by identity. */
function entryOf(folder: GuardedFolder, name: string, reach: FileReach): JsonObject[] {
  const stat = lstatSync(folder.at(name), { bigint: true, throwIfNoEntry: false })
  if (stat === undefined || isHidden(reach, join(folder.path, [name]), identityOf(stat))) return []
  if (stat.isDirectory()) return [{ name, kind: 'directory', bytes: null }]
  if (stat.isSymbolicLink()) return [{ name, kind: 'symlink', bytes: null }]
  return [{ name, kind: 'file', bytes: stat.isFile() ? Number(stat.size) : null }]
}

/** Writes a whole file. Missing parents are made and listed in `created_folders` (absent: none were); of many the outermost. */
export function fileWrite(args: JsonObject, reach: FileReach): ToolOutcome {
  return answering(() => {
    const path = textArgument(args, 'path')
    const text = textArgument(args, 'text')
    const place = writable(path, reach, 'file.write')
    if (place instanceof Refusal) return place
    const written = replaceGuardedFile(place, Buffer.from(text, 'utf8'))
    if (written instanceof Refusal) return written
    const { bytes, created } = written
    return created.length === 0
      ? { path, bytes }
      : { path, bytes, ...createdFolders(created.map(at => labelOf(reach, at))) }
  })
}

/** The result tells of what was written whatever its length: the outermost folders say where the others are. */
function createdFolders(labels: readonly string[]): JsonObject {
  const told = labels.slice(0, CREATED_FOLDERS_TOLD)
  const omitted = labels.length - told.length
  return { created_folders: told, ...(omitted === 0 ? {} : { created_folders_omitted: omitted }) }
}

/** Replaces the one place where `old` stands; `bytes` is the new size. */
export function fileEdit(args: JsonObject, reach: FileReach): ToolOutcome {
  return answering(() => {
    const path = textArgument(args, 'path')
    const old = textArgument(args, 'old')
    const put = textArgument(args, 'new')
    if (old === '') return bad('old', 'old is empty: give the text to replace, or write the whole file with file_write')
    const place = writable(path, reach, 'file.edit')
    if (place instanceof Refusal) return place
    const written = replaceGuardedFile(place, {
      bytesMax: EDIT_FILE_BYTES_MAX,
      edit: bytes => {
        const edited = editBytes(bytes, old, put)
        return edited.kind === 'edited' ? edited.bytes : notOne(path, edited.occurrences)
      },
    })
    return written instanceof Refusal ? written : { path, bytes: written.bytes }
  })
}

function notOne(path: string, occurrences: number): Refusal {
  const text =
    occurrences === 0
      ? `old does not stand in ${shown(path)}: read the file again and copy the text exactly, without line numbers`
      : `old stands in ${occurrences} places of ${shown(path)}: give more of the surrounding lines, so that it is one`
  return new Refusal('edit-mismatch', { path, occurrences }, text)
}
