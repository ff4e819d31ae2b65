/**
 * The one way from a network namespace to our proxy (decisions 32). Before the command starts, a small program of ours opens a
 * listener on the loopback inside, hands it to us over a descriptor that only it has, and ends; we accept in our own process. So
 * nothing of ours stays inside, no bytes are copied twice, and there is no socket file that could be reached in any other way.
 *
 * Only Node hands a listener to Node, so the Node that runs us is shown inside: at its own place where that is shown anyway, else
 * its file alone.
 */
import { isVisible } from './policy-reach.js'
import { CHILD_FDS, type HostFacts, type Policy } from './types.js'

const NODE_INSIDE = '/run/harness/node'
/** Where the program stands that opens the listener. */
export const BRIDGE_INSIDE = '/run/harness/bridge'

/** Of a network namespace of its own: outside the range that connections are given ports from, and nobody's usual one. */
export const BRIDGE_PORT = 61_080

/** CommonJS: no package.json says otherwise there, and it starts sooner. */
export const BRIDGE_PROGRAM: Uint8Array = Buffer.from(`\
const server = require('node:net').createServer()
server.listen({ host: '127.0.0.1', port: ${BRIDGE_PORT} }, () => {
  process.send('listening', server, () => {
    process.disconnect()
    server.close()
  })
})
`)

/** What bubblewrap is told beside the fed program. Empty without a network. */
export function bridgeWords(policy: Policy, facts: HostFacts): string[] {
  if (policy.network === null) return []
  // Where it stands, libraries that it looks for beside itself are found too.
  return [isVisible(facts.node, policy, facts) ? '--symlink' : '--ro-bind', facts.node, NODE_INSIDE]
}

/**
 * The part of the first program that runs it, before any limit is set: what Node takes to start is not the command's. With nothing
 * of the command's environment, in which there are variables that make Node run other files.
 */
export const BRIDGE_SCRIPT = `\
for HARNESS_ENV in /usr/bin/env /bin/env; do [ -x "$HARNESS_ENV" ] && break; done
"$HARNESS_ENV" -i NODE_CHANNEL_FD=${CHILD_FDS.bridge} NODE_CHANNEL_SERIALIZATION_MODE=json \
${NODE_INSIDE} ${BRIDGE_INSIDE} </dev/null >&2 || { echo 'network: no listener could be opened inside' >&2; exit 125; }
unset HARNESS_ENV
exec ${CHILD_FDS.bridge}>&-
`
