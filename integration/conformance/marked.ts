/** Finds and ends the processes of one test, by a word in their argv. Linux: reads /proc. */
import { readdirSync, readFileSync } from 'node:fs'

export interface Marked {
  readonly pid: number
  readonly argv: readonly string[]
  /** Real uid as the host sees it. */
  readonly uid: number
}

/** Living processes that carry `marker` in their argv. Zombies have no argv and do not count. */
export function marked(marker: string): readonly Marked[] {
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .flatMap(name => {
      try {
        const argv = readFileSync(`/proc/${name}/cmdline`, 'utf8').split('\0')
        if (!argv.some(word => word.includes(marker))) return []
        const uid = /^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${name}/status`, 'utf8'))?.[1]
        return [{ pid: Number(name), argv, uid: Number(uid) }]
      } catch {
        // It ended between the listing and the reading.
        return []
      }
    })
}

/** Waits until `condition` holds or `ms` have passed; what it came to. */
export async function within(ms: number, condition: () => boolean): Promise<boolean> {
  const until = performance.now() + ms
  while (!condition()) {
    if (performance.now() > until) return false
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  return true
}

/** Ends what is left of a test, so that a broken boundary leaves nothing on the machine either. */
export async function endMarked(marker: string): Promise<void> {
  await within(3_000, () => {
    const left = marked(marker)
    for (const { pid } of left) {
      try {
        process.kill(pid, 'SIGKILL')
      } catch {}
    }
    return left.length === 0
  })
}

/** Ends what carries `variable` (`NAME=VALUE`) in its environment: helpers that a peer leaves behind have no mark in their argv. */
export function endCarrying(variable: string): void {
  for (const name of readdirSync('/proc').filter(one => /^\d+$/.test(one) && Number(one) !== process.pid)) {
    try {
      if (readFileSync(`/proc/${name}/environ`, 'utf8').split('\0').includes(variable))
        process.kill(Number(name), 'SIGKILL')
    } catch {
      // It has ended, or belongs to somebody else.
    }
  }
}
