/** Files named on the command line: read whole, within a bound, and nothing that never ends or never begins. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { OPERATOR_FILE_BYTES_MAX } from '../../src/bounds.js'
import { readOperatorFile } from '../../src/cli/operator-file.js'
import { Refusal } from '../../src/errors.js'
import { scratch } from '../support/scratch.js'

function codeOf(path: string): string {
  try {
    return `read ${readOperatorFile(path, '--context').length}`
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return `${error.code}: ${error.message.replace(path, 'PATH')}`
  }
}

t.test('what is read and what is refused', async t => {
  const at = scratch(t)
  writeFileSync(join(at, 'plain.txt'), 'words')
  writeFileSync(join(at, 'full'), Buffer.alloc(OPERATOR_FILE_BYTES_MAX))
  writeFileSync(join(at, 'over'), Buffer.alloc(OPERATOR_FILE_BYTES_MAX + 1))
  execFileSync('mkfifo', [join(at, 'fifo')])
  t.equal(codeOf(join(at, 'plain.txt')), 'read 5')
  t.equal(codeOf(join(at, 'full')), `read ${OPERATOR_FILE_BYTES_MAX}`)
  t.match(codeOf(join(at, 'over')), /^too-large: --context PATH has more than 4194304 bytes/)
  t.match(codeOf('/dev/zero'), /^too-large/)
  t.equal(codeOf('/dev/null'), 'read 0')
  t.equal(codeOf(join(at, 'fifo')), 'read 0', 'nobody writes to it')
  t.match(codeOf(at), /^file-unreadable: --context PATH cannot be read \(EISDIR\)/)
  t.match(codeOf(join(at, 'none')), /^file-unreadable.*ENOENT/)
})

t.test('a pipe whose writer takes its time is read to its end', async t => {
  const at = scratch(t)
  const fifo = join(at, 'fifo')
  execFileSync('mkfifo', [fifo])
  const writer = spawn('sh', ['-c', 'exec 3<>"$1"; echo ready; sleep 0.3; printf late >&3', 'sh', fifo])
  await once(writer.stdout, 'data')
  t.equal(Buffer.from(readOperatorFile(fifo, '--context')).toString(), 'late')
})
