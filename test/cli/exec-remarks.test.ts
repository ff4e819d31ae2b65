/** The lines that exec adds to how a command ended. */
import t from 'tap'
import { execRemarks } from '../../src/cli/exec-remarks.js'

t.test('each fact has its line, in one order', async t => {
  t.strictSame(execRemarks({ tampered: [] }), [])
  const [left, ...rest] = execRemarks({
    tree_left: true,
    tampered: ['/ws/.mcp.json appeared', '/ws/a\u001b[2J'],
    network_denied: [{ host: 'example.org', port: 443, why: 'address-not-allowed', times: 2 }],
    stream_failures: [{ stream: 'stdout', errno: 'EIO' }],
  })
  t.match(left, /^not all of the command was seen to end: 5 s after KILL/)
  t.equal(rest.length, 4)
  t.equal(rest[0], 'protected path: /ws/.mcp.json appeared')
  t.notMatch(rest[1], '\u001b', 'nothing of it reaches the terminal as it is')
  t.match(rest[2], /^network denied: .*example\.org/)
  t.equal(rest[3], 'stdout could not be passed on to its end (EIO)')
})
