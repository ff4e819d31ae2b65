/**
 * A small process that outlives us if we are killed, and then ends what carries our cookie. bubblewrap dies with us once
 * it has asked the kernel for that, but killed between asking and letting its inner half go on it leaves that half
 * waiting for ever (decisions 20); and what runs without a boundary has nothing else to die by.
 *
 * It holds the read end of a pipe of ours. A word on it means that we end with nothing running, and it just goes.
 */
import { randomHex } from '../random.js'
import { type Beside, startBeside } from './spawn.js'

/** Name of the variable that marks what the guardian of this process ends. */
export const GUARD = 'HARNESS_GUARD'

/**
 * Sweeps several times, because what we had just forked shows its new environment only after its exec. `grep -l` looks at all
 * processes in one go; the cookie is random, so being part of an environment is being in it.
 */
const SCRIPT = `\
read -r word && exit 0
for pause in 0 0.05 0.1 0.2 0.4; do
sleep $pause
for file in $(grep -lF -e "$1" /proc/[0-9]*/environ 2>/dev/null); do
file=\${file#/proc/}
kill -KILL "\${file%/environ}" 2>/dev/null
done
done`

const CLEAN = 'clean\n'

let cookie: string | undefined
let guardian: Beside | undefined
let running = 0
let saysGoodbye = false

/**
 * The variable to put into the environment of what is started now, and a function to call once its tree is gone. Starts the
 * guardian where none is alive. An empty environment where there is no /proc to sweep.
 */
export function guarded(): { readonly env: Readonly<Record<string, string>>; readonly over: () => void } {
  if (process.platform !== 'linux') return { env: {}, over: () => undefined }
  cookie ??= `${process.pid}-${randomHex(12)}`
  if (guardian === undefined || !guardian.alive()) guardian = startBeside('/bin/sh', ['-c', SCRIPT, 'guardian', cookie])
  sayGoodbyeAtExit()
  running++
  let counted = true
  const over = () => {
    if (counted) running--
    counted = false
  }
  return { env: { [GUARD]: cookie }, over }
}

function sayGoodbyeAtExit(): void {
  if (saysGoodbye) return
  saysGoodbye = true
  process.once('exit', () => {
    if (running === 0) guardian?.tell(CLEAN)
  })
}
