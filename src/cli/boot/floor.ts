/**
 * The first thing either program does: a Node that is too old is told so, where it would otherwise meet syntax that it does
 * not know. Imported for that effect before anything else; this file and the entry it is bundled into are written for any Node.
 */

/** From package.json, e.g. `20.19`. */
declare const HARNESS_NODE: string
declare const HARNESS_PROGRAM: string

function isOlder(version: string, floor: string): boolean {
  const [have, need] = [version, floor].map(text => text.split('.').map(Number)) as [number[], number[]]
  const at = need.findIndex((part, index) => have[index] !== part)
  return at !== -1 && (have[at] as number) < (need[at] as number)
}

if (isOlder(process.versions.node, HARNESS_NODE)) {
  process.stderr.write(
    `${HARNESS_PROGRAM} needs Node.js ${HARNESS_NODE} or later; this is ${process.versions.node} (${process.execPath}): put a later one first on PATH\n`,
  )
  process.exit(HARNESS_PROGRAM === 'hookcheck' ? 2 : process.argv[2] === 'exec' ? 125 : 1)
}
