/** passwd(5) and group(5) as shown inside. The first line that has a uid gives its name, so the own one comes first. */

const NOBODY = 65_534
const NO_LOGIN = '/usr/sbin/nologin'

/** Users: the own one as `agent`, root, nobody; each uid once. */
export function passwdText(uid: number, gid: number): string {
  const own = `agent:x:${uid}:${gid}:agent:/home/agent:/bin/sh`
  const root = `root:x:0:0:root:/root:${NO_LOGIN}`
  const nobody = `nobody:x:${NOBODY}:${NOBODY}:nobody:/nonexistent:${NO_LOGIN}`
  return lines([own, ...(uid === 0 ? [] : [root]), ...(uid === NOBODY ? [] : [nobody])])
}

/** Groups likewise. */
export function groupText(gid: number): string {
  return lines([
    `agent:x:${gid}:`,
    ...(gid === 0 ? [] : ['root:x:0:']),
    ...(gid === NOBODY ? [] : [`nogroup:x:${NOBODY}:`]),
  ])
}

function lines(entries: readonly string[]): string {
  return `${entries.join('\n')}\n`
}
