/**
 * Places of this machine that a boundary keeps away, told by what they are and not by their names alone: inside, a private
 * folder may stand where one of the machine's does. Nothing is read of them here but what they are.
 */
import { readdirSync, readlinkSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { isWithin } from '../../paths/resolve.js'
import type { HostFacts } from '../types.js'

export interface Place {
  readonly path: string
  /** Device and inode, `dev:ino`. */
  readonly identity: string
  /** Everybody inside is shown it read-only, so that it can be listed says nothing. */
  readonly shown: boolean
}

export interface Machine {
  readonly places: readonly Place[]
  /** Disks in /dev, some of them; empty: there are none. */
  readonly disks: readonly string[]
  /** What `/proc/self/ns/ipc` leads to; null: there are no namespaces. */
  readonly ipc: string | null
}

// biome-ignore format: a list of words
const FOLDERS = [
  '/', '/etc', '/var', '/var/lib', '/var/log', '/var/tmp', '/root', '/home', '/srv', '/mnt', '/media', '/boot', '/run',
  '/tmp', '/dev', '/dev/shm',
] as const

const DISKS_MAX = 8

/** The homes alone where it is not Linux: what a seatbelt profile shows of the rest is not known by trying. */
export function machinePlaces({ platform, homes, systemRoots }: HostFacts): Machine {
  const roots = systemRoots.flatMap(root => (root.kind === 'folder' ? [root.path] : []))
  const paths = platform === 'linux' ? [...FOLDERS, ...homes, ...roots] : homes
  return {
    places: [...new Set(paths)].flatMap(path => {
      const identity = identityOf(path)
      return identity === null ? [] : [{ path, identity, shown: roots.some(root => isWithin(path, root)) }]
    }),
    disks: platform === 'linux' ? disks() : [],
    ipc: orNull(() => readlinkSync('/proc/self/ns/ipc')),
  }
}

function identityOf(path: string): string | null {
  const stat = orNull(() => statSync(path, { bigint: true }))
  return stat?.isDirectory() === true ? `${stat.dev}:${stat.ino}` : null
}

function disks(): string[] {
  const names = orNull(() => readdirSync('/dev')) ?? []
  const paths = names.map(name => join('/dev', name))
  return paths.filter(path => orNull(() => statSync(path).isBlockDevice()) === true).slice(0, DISKS_MAX)
}

function orNull<Value>(read: () => Value): Value | null {
  try {
    return read()
  } catch {
    return null
  }
}
