/**
 * Preloaded (`node --require steps.cjs …`) into a program that sends a request for each of its steps: at exit it writes the
 * processor time in µs, as a list, that the program had used when each request began, to the file that BENCH_STEPS_FILE names.
 *
 * Processor time and not the clock: early and late steps are seconds apart, and a machine with other work to do changes meanwhile.
 */
const { writeFileSync } = process.getBuiltinModule('node:fs')
const { subscribe } = process.getBuiltinModule('node:diagnostics_channel')

const target = process.env.BENCH_STEPS_FILE
delete process.env.BENCH_STEPS_FILE

if (target !== undefined) {
  const used = []
  subscribe('http.client.request.start', () => {
    const { user, system } = process.cpuUsage()
    used.push(user + system)
  })
  process.on('exit', () => writeFileSync(target, JSON.stringify(used)))
}
