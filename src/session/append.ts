/**
 * The file of a session as it grows: whole lines at its end, one write and one fdatasync for all that came together. What
 * cannot be written is taken back to the last whole state, and from then on nothing is written.
 */
import { closeSync, fdatasync, fdatasyncSync, fstatSync, ftruncateSync, writeSync } from 'node:fs'
import { SESSION_BYTES_MAX } from '../bounds.js'
import { errnoOf, Refusal } from '../errors.js'
import { systemRefusal } from '../paths/guarded-folder.js'
import { shown } from '../paths/walk.js'
import { type SessionFolder, unusable } from './folder.js'

/** What appending needs of the system; tests give their own. */
export interface AppendCalls {
  write(fd: number, bytes: Buffer, at: number): number
  truncate(fd: number, size: number): void
  sync(fd: number): Promise<void>
}

export const appendCalls: AppendCalls = {
  write: (fd, bytes, at) => writeSync(fd, bytes, at),
  truncate: (fd, size) => ftruncateSync(fd, size),
  sync: fd =>
    new Promise((resolve, reject) => {
      fdatasync(fd, error => (error === null ? resolve() : reject(error)))
    }),
}

export interface AppendRequest {
  readonly folder: SessionFolder
  readonly name: string
  /** A file held open at its end, and its size; null: it is made with the first lines. */
  readonly file: { readonly fd: number; readonly size: number } | null
  readonly calls?: AppendCalls
}

export class AppendFile {
  readonly #folder: SessionFolder
  readonly #calls: AppendCalls
  readonly #path: string
  readonly #name: string
  #fd: number | null
  #size: number
  #pending: string[] = []
  #failed: Refusal | null = null

  constructor({ folder, name, file, calls = appendCalls }: AppendRequest) {
    this.#folder = folder
    this.#name = name
    this.#path = folder.pathOf(name)
    this.#calls = calls
    this.#fd = file?.fd ?? null
    this.#size = file?.size ?? 0
  }

  /** True once there is a file. */
  get made(): boolean {
    return this.#fd !== null
  }

  get bytes(): number {
    return this.#size
  }

  /** Adds a whole line, its newline included; nothing is written yet. */
  push(line: string): void {
    this.#pending.push(line)
  }

  /**
   * Writes what was pushed and waits until it is durable. Refuses `no-space`, `over-bound`, `session-unusable` (the file is
   * not what it was) and what the filesystem answers; the same refusal ever after.
   */
  async settle(): Promise<Refusal | null> {
    const fd = this.#write()
    if (fd instanceof Refusal || fd === null) return fd
    try {
      await this.#calls.sync(fd)
      return null
    } catch (error) {
      // What a failed sync has dropped is not told by a second one (fsync(2)): nothing is sure from here on.
      this.#failed = systemRefusal(error, this.#path)
      return this.#failed
    }
  }

  /**
   * Writes what was pushed and makes it durable, or drops it, and closes. A refusal that {@link settle} has given is not
   * given again.
   */
  close(pending: 'write' | 'drop'): Refusal | null {
    const fd = this.#failed === null && pending === 'write' ? this.#write() : null
    let refused = fd instanceof Refusal ? fd : null
    try {
      if (typeof fd === 'number') fdatasyncSync(fd)
    } catch (error) {
      refused = systemRefusal(error, this.#path)
    }
    if (this.#fd !== null) closeSync(this.#fd)
    this.#fd = null
    this.#failed ??= unusable(this.#path, 'was closed')
    return refused
  }

  /** The descriptor that was written to; null: there was nothing to write. */
  #write(): number | null | Refusal {
    if (this.#failed !== null) return this.#failed
    if (this.#pending.length === 0) return null
    const bytes = Buffer.from(this.#pending.join(''))
    this.#pending = []
    const came = this.#append(bytes)
    if (came instanceof Refusal) this.#failed = came
    return came
  }

  #append(bytes: Buffer): number | Refusal {
    const after = this.#size + bytes.length
    if (after > SESSION_BYTES_MAX) return tooLarge(this.#path, after)
    const isNew = this.#fd === null
    let fd: number
    try {
      fd = this.#fd ?? this.#folder.create(this.#name)
    } catch (error) {
      return systemRefusal(error, this.#path)
    }
    this.#fd = fd
    const refused = this.#changed(fd) ?? this.#writeAll(fd, bytes) ?? (isNew ? this.#named() : null)
    if (refused === null) {
      this.#size = after
      return fd
    }
    if (isNew) this.#unmake(fd)
    return refused
  }

  /** O_APPEND puts bytes wherever the end is now: whoever else wrote would be interleaved with. */
  #changed(fd: number): Refusal | null {
    const { size, nlink } = fstatSync(fd)
    if (nlink === 0) return unusable(this.#path, 'was removed while it was in use: nothing can be kept in it')
    if (size === this.#size) return null
    return unusable(
      this.#path,
      `has ${size} bytes and not the ${this.#size} that were written: something else changed it`,
    )
  }

  #writeAll(fd: number, bytes: Buffer): Refusal | null {
    try {
      for (let at = 0; at < bytes.length; ) at += this.#calls.write(fd, bytes, at)
      return null
    } catch (error) {
      this.#rollBack(fd)
      return systemRefusal(error, this.#path)
    }
  }

  /** Where even that fails, the torn tail is cut when the session is opened again. */
  #rollBack(fd: number): void {
    try {
      this.#calls.truncate(fd, this.#size)
    } catch (error) {
      if (errnoOf(error) === undefined) throw error
    }
  }

  /** The name of a new file is durable only with its folder. */
  #named(): Refusal | null {
    try {
      this.#folder.sync()
      return null
    } catch (error) {
      return systemRefusal(error, this.#path)
    }
  }

  /** A session of no line is none. */
  #unmake(fd: number): void {
    this.#folder.remove(this.#name)
    closeSync(fd)
    this.#fd = null
  }
}

function tooLarge(path: string, seen: number): Refusal {
  const text = `${shown(path)} would have ${seen} bytes, over the bound of ${SESSION_BYTES_MAX} for a session: begin a new one`
  return new Refusal('over-bound', { name: 'session', limit: SESSION_BYTES_MAX, seen }, text)
}
