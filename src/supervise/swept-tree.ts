/** The tree of a launch that no namespace holds, by what this system tells of processes: /proc on Linux, ps(1) elsewhere. */
import { CookieTree } from './cookie-sweep.js'
import { ListedTree } from './listed-tree.js'
import { psLister } from './process-list.js'
import { runToEnd } from './spawn.js'
import type { Tree } from './tree.js'

/** @param launchId value of the cookie that the launch carries in its environment. */
export function sweptTree(leader: number, launchId: string): Tree {
  if (process.platform === 'linux') return new CookieTree(leader, launchId)
  return new ListedTree(
    leader,
    launchId,
    psLister(words => runToEnd('/bin/ps', words)),
  )
}
