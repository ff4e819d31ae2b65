/**
 * `npm run build`: types and library by tsc, then the CommonJS bundles of the programs (starting from a bundle is three
 * times faster than resolving packages one by one), the two small entries that load them, and the man pages.
 *
 * With `--package` what is published alone. Needs nothing but node_modules. Ends with 1 and the compiler's words when the sources do not compile.
 */
import { createHash } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import { execa } from 'execa'

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..')
/** Made beside and put in place whole, so that a failed build leaves the last good one and a running program its files. */
const next = join(root, '.build', 'next')
const bin = join(next, 'bin')
const { version, engines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

const common = {
  bundle: true,
  platform: 'node',
  target: 'node20.19',
  format: 'cjs',
  legalComments: 'none',
  // Less to read and to check against the code cache at every start; names stay, for stacks that say something.
  minifySyntax: true,
  minifyWhitespace: true,
  logLevel: 'warning',
  // node-pty carries native files beside itself and is optional: it is looked up when a terminal is asked for.
  external: ['node-pty'],
  // import() becomes a lazy require: the bundle runs from a vm.Script, which has no module loader of its own.
  supported: { 'dynamic-import': false },
  // Only asked where there is no __dirname, which a bundle has.
  logOverride: { 'empty-import-meta': 'silent' },
}

/** The project; with `--package` what is published of it, in half the time: no tests, which may be absent then. */
function project() {
  const whole = join(root, 'tsconfig.json')
  if (!process.argv.includes('--package')) return whole
  const sources = join(root, '.build', 'package.tsconfig.json')
  mkdirSync(dirname(sources), { recursive: true })
  const options = { extends: whole, compilerOptions: { rootDir: root }, include: [join(root, 'src/**/*.ts')] }
  writeFileSync(sources, JSON.stringify(options))
  return sources
}

async function compile() {
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  const result = await execa(process.execPath, [tsc, '-p', project(), '--outDir', next], {
    reject: false,
    cwd: root,
  })
  if (result.exitCode === 0) return
  process.stderr.write(`${result.stdout}\n${result.stderr}\n`)
  process.exit(1)
}

/** A bundle leaves out what it is never asked for, all but the path `kept`: the entry picks it by the first word. */
function without(name, filter, importedBy, kept) {
  return {
    name,
    setup(build) {
      build.onResolve({ filter }, ({ importer, path }) =>
        importer.endsWith(importedBy) && path !== kept ? { path, external: true } : undefined,
      )
    },
  }
}

/**
 * What packages load of Node and no command here calls, loaded with the first call: commander starts programs for subcommands
 * that are programs of their own, and `isexe` can ask without waiting.
 */
const LATE = [
  { path: 'node:child_process', importer: /[\\/]commander[\\/]lib[\\/]command\.js$/, name: 'spawn' },
  { path: 'node:fs/promises', importer: /[\\/]isexe[\\/]/, name: 'stat' },
]
const late = {
  name: 'late',
  setup(build) {
    for (const { path, importer: by, name } of LATE) {
      build.onResolve({ filter: new RegExp(`^${path}$`) }, ({ importer }) =>
        by.test(importer) ? { path, namespace: 'late', pluginData: name } : undefined,
      )
    }
    build.onLoad({ filter: /.*/, namespace: 'late' }, ({ path, pluginData: name }) => ({
      contents: `exports.${name} = (...words) => require(${JSON.stringify(path)}).${name}(...words)`,
    }))
  },
}

const COMMAND = /^\.\/[a-z-]+\.js$/
const withoutOtherCommands = without('other-commands', COMMAND, 'commands/table.ts', './exec.js')
const withoutCommands = without('commands', COMMAND, 'commands/table.ts')
const withoutHookcheck = without('hookcheck', /^\.\/commands\/hookcheck\.js$/, 'cli/main.ts')

/** Bundle → its esbuild plugins. `audit` is the program hookcheck. */
const BUNDLES = {
  main: [late, withoutHookcheck],
  exec: [late, withoutHookcheck, withoutOtherCommands],
  audit: [late, withoutCommands],
}

async function bundle() {
  mkdirSync(bin, { recursive: true })
  const digests = {}
  for (const [name, plugins] of Object.entries(BUNDLES)) {
    const outfile = join(bin, `${name}.cjs`)
    await build({
      ...common,
      plugins,
      entryPoints: [join(root, 'src', 'cli', 'main.ts')],
      outfile,
      define: { HARNESS_VERSION: JSON.stringify(version) },
    })
    // esbuild writes strings as ASCII and keeps a comment here and there as it is.
    const text = readFileSync(outfile, 'utf8').replace(/[^\0-\x7f]/g, '?')
    const bytes = Buffer.from(`(function (exports, require, module, __filename, __dirname) {${text}\n})`)
    writeFileSync(outfile, bytes)
    digests[name] = createHash('sha256').update(bytes).digest('hex').slice(0, 16)
  }
  for (const program of ['harness', 'hookcheck']) {
    const outfile = join(bin, `${program}.cjs`)
    await build({
      ...common,
      entryPoints: [join(root, 'src', 'cli', 'boot', 'entry.ts')],
      outfile,
      // An old Node has to understand it as far as the sentence that names a later one.
      target: 'es2018',
      banner: { js: '#!/usr/bin/env node' },
      define: {
        HARNESS_NODE: JSON.stringify(engines.node.replace('>=', '')),
        HARNESS_VERSION: JSON.stringify(version),
        HARNESS_PROGRAM: JSON.stringify(program),
        HARNESS_BUNDLES: JSON.stringify(digests),
      },
    })
    chmodSync(outfile, 0o755)
  }
}

/** The launcher of Landlock as files, for machines on which nothing can be written that could be started. */
async function launchers() {
  const { launcherElf } = await import(pathToFileURL(join(next, 'src', 'confinement', 'landlock-launcher.js')).href)
  for (const arch of ['x86_64', 'aarch64']) {
    const path = join(bin, `landlock-${arch}`)
    writeFileSync(path, launcherElf(arch))
    chmodSync(path, 0o755)
  }
}

/** One page for each command, from the tables that `--help` is printed from. SOURCE_DATE_EPOCH (seconds) makes it the same every day. */
async function manual() {
  const { manualPages } = await import(pathToFileURL(join(next, 'src', 'cli', 'manual.js')).href)
  const { SOURCE_DATE_EPOCH } = process.env
  const day = SOURCE_DATE_EPOCH === undefined ? new Date() : new Date(Number(SOURCE_DATE_EPOCH) * 1000)
  mkdirSync(join(next, 'man'))
  for (const [name, text] of manualPages({ version, date: day.toISOString().slice(0, 10) }))
    writeFileSync(join(next, 'man', name), text)
}

// An installed package has no sources to build: `prepare` also runs there for git dependencies only.
if (existsSync(join(root, 'src'))) {
  rmSync(next, { recursive: true, force: true })
  await compile()
  await bundle()
  await launchers()
  await manual()
  rmSync(join(root, 'dist'), { recursive: true, force: true })
  renameSync(next, join(root, 'dist'))
}
