/** `profiles init`: a file to begin with, all of it comments. It never overwrites. */
import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { errnoOf, fixFor, Refusal } from '../../errors.js'

const TEXT = `# Configuration of harness and hookcheck. Every key is the option of the same name without its dashes; lists are arrays.
# What holds, and from where: harness profiles explain -p NAME

# Always in force.
# [default]
# provider = "anthropic"
# confine = "auto"
# limit = ["memory=1GiB", "wall=5m"]

# In force with -p NAME; of several, the later one wins.
# [[profiles]]
# name = "edit"
# write = true                     # the boundary, and file tools may write everything but .git
# allow-program = ["node", "npm"]
# approve-up-to = "medium"

# A provider of your own, or fields of a built-in one.
# [providers.local]
# base-url = "http://127.0.0.1:8080/v1"
# wire = "openai-chat"
# model = "small"
# [providers.local.aliases]
# small = "some-model-7b"

# For the operator's hooks (harness run --hooks FILE, hookcheck FILE).
# [hooks]
# path = ["/usr/local/bin", "/usr/bin", "/bin"]
# timeout-ms = 10000
`

/** Makes the file, 0600, and the folders above it that are missing, 0700; answers its path. Throws `config-exists`, `write-failed`. */
export function makeFile(path: string): string {
  try {
    makeFolders(dirname(path))
    const fd = openSync(path, 'wx', 0o600)
    try {
      writeSync(fd, TEXT)
    } finally {
      closeSync(fd)
    }
    return path
  } catch (error) {
    const errno = errnoOf(error)
    if (errno === undefined) throw error
    if (errno === 'EEXIST')
      throw new Refusal(
        'config-exists',
        { path },
        `${path} is there already, and is left as it is: change it, or remove it first`,
      )
    throw new Refusal(
      'write-failed',
      { path, errno },
      `${path} cannot be made (${errno}): ${fixFor(errno, 'write')} (HOME, XDG_CONFIG_HOME)`,
    )
  }
}

/** One by one: a recursive call never returns where a filesystem answers ENOENT to making anything, as /proc does. */
function makeFolders(folder: string): void {
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch (error) {
    const errno = errnoOf(error)
    if (errno === 'EEXIST') return
    if (errno !== 'ENOENT' || dirname(folder) === folder) throw error
    makeFolders(dirname(folder))
    mkdirSync(folder, { mode: 0o700 })
  }
}
