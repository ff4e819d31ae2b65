/**
 * Preloaded (`node --require peak.cjs …`) into a program whose peak memory is asked for: at exit it writes the highest
 * resident size, in KiB, to the file that BENCH_PEAK_FILE names.
 *
 * VmHWM of /proc/self/status and not ru_maxrss: the latter starts at the size of the process that forked it
 * (getrusage(2) is kept across execve), so a large parent would be measured instead.
 */
const { readFileSync, writeFileSync } = process.getBuiltinModule('node:fs')

const target = process.env.BENCH_PEAK_FILE
delete process.env.BENCH_PEAK_FILE

function peakKib() {
  if (process.platform !== 'linux') return process.resourceUsage().maxRSS
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1])
}

if (target !== undefined) process.on('exit', () => writeFileSync(target, String(peakKib())))
