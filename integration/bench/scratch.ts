/** Folders and files that the rows measure over, all inside the run's private folder. */
import { mkdir, open, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { SMALL_FILE } from './client.js'
import type { Bench } from './row.js'

/** A workspace with one small text file. The same folder each time it is asked for by the same name. */
export async function workspace(bench: Bench, name = 'workspace'): Promise<string> {
  const folder = join(bench.scratch, name)
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, SMALL_FILE), 'a line of notes\n'.repeat(20))
  return folder
}

/** Fills `folder` with `count` empty files, a thousand a folder. */
export async function fill(folder: string, count: number): Promise<void> {
  for (let made = 0; made < count; made += 1000) {
    const inner = join(folder, `part-${made / 1000}`)
    await mkdir(inner)
    for (let file = made; file < Math.min(made + 1000, count); file += 1) {
      await writeFile(join(inner, `file-${file}.txt`), '')
    }
  }
}

/** Writes `bytes` bytes without a line end to `path`. */
export async function oneLongLine(path: string, bytes: number): Promise<void> {
  const block = Buffer.alloc(1024 * 1024, 'x')
  const file = await open(path, 'w')
  try {
    for (let written = 0; written < bytes; written += block.length) {
      await file.write(block, 0, Math.min(block.length, bytes - written))
    }
  } finally {
    await file.close()
  }
}
