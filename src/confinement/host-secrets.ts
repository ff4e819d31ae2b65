/**
 * What a policy hides without being asked wherever a read rule would show it: the secrets of every home folder, those of the machine,
 * and our own folders. Unknown names stay in sight: a list of names is no proof, and the record says so.
 */
import { type Dirent, readdirSync } from 'node:fs'
import { Refusal } from '../errors.js'
import { join, land } from '../paths/resolve.js'
import { SECRET_NAMES } from './secret-names.js'
import type { ControlFile } from './types.js'

export interface SecretPlace {
  readonly path: string
  readonly source: string
}

/** Keys, password tables, stores of daemons and remains of memory, as distributions place them; see the manual of each program. */
// biome-ignore format: a list of words
const HOST_SECRETS = [
  '/etc/shadow', '/etc/shadow-', '/etc/gshadow', '/etc/gshadow-', '/etc/master.passwd', '/etc/security/opasswd', '/etc/tcb',
  '/etc/sudoers', '/etc/sudoers.d', '/etc/doas.conf', '/etc/ssl/private', '/etc/pki/tls/private', '/etc/letsencrypt',
  '/etc/krb5.keytab', '/etc/wireguard', '/etc/openvpn', '/etc/ipsec.secrets', '/etc/ipsec.d/private', '/etc/swanctl/private',
  '/etc/ppp/chap-secrets', '/etc/ppp/pap-secrets', '/etc/NetworkManager/system-connections', '/etc/wpa_supplicant',
  '/etc/netplan', '/etc/credstore', '/etc/credstore.encrypted', '/etc/docker/key.json', '/etc/kubernetes', '/etc/rancher',
  '/etc/mysql/debian.cnf', '/etc/crypttab', '/etc/cryptsetup-keys.d', '/etc/ceph', '/etc/iscsi', '/etc/smbcredentials',
  '/etc/auto.smb.credentials',
  '/var/lib/docker', '/var/lib/containerd', '/var/lib/containers', '/var/lib/kubelet', '/var/lib/rancher', '/var/lib/lxd',
  '/var/lib/incus', '/var/lib/libvirt', '/var/lib/sss', '/var/lib/samba/private', '/var/lib/iwd', '/var/lib/bluetooth',
  '/var/lib/NetworkManager', '/var/lib/systemd/credential.secret', '/var/lib/systemd/random-seed',
  '/var/lib/systemd/coredump', '/var/crash', '/var/backups', '/var/spool/cron', '/var/spool/mail', '/var/mail',
  '/var/kerberos', '/var/lib/cloud', '/var/lib/waagent', '/var/lib/amazon', '/var/lib/google', '/var/lib/tailscale',
  '/var/lib/mysql', '/var/lib/postgresql', '/var/lib/redis', '/var/lib/vault',
  '/swapfile', '/swap.img',
] as const

/** Of sshd: `ssh_host_ed25519_key` and its kin, without the public halves. */
const SSH_HOST_KEY = /^ssh_host_.*_key$/

/** By home folder, by place, and of ours; they need not exist. */
export function secretPlaces({
  homes,
  credentials,
  controlFiles,
}: {
  readonly homes: readonly string[]
  /** Files of installations that can hold registry credentials. */
  readonly credentials: readonly string[]
  readonly controlFiles: readonly ControlFile[]
}): readonly SecretPlace[] {
  const ofHomes = homes.flatMap(home =>
    namesIn(home).map(name => ({ path: join(home, [name]), source: `default: secret list (~/${name})` })),
  )
  const hostKeys = listed('/etc/ssh').filter(name => SSH_HOST_KEY.test(name))
  const ofHost = [...HOST_SECRETS, ...hostKeys.map(name => `/etc/ssh/${name}`)]
  const ours = controlFiles.filter(({ isSecret }) => isSecret === true)
  return [
    ...credentials.map(path => ({ path, source: 'default: registry credentials' })),
    ...ofHomes,
    ...ofHost.map(path => ({ path, source: 'default: secret list of the host' })),
    ...ours.map(({ path, what }) => ({ path, source: `default: ${what}` })),
  ]
}

/** One look at the home instead of one at each name. A home that cannot be listed is asked for every name. */
function namesIn(home: string): readonly string[] {
  const present = new Set(listed(home))
  return present.size === 0 ? SECRET_NAMES : SECRET_NAMES.filter(name => present.has(name.split('/')[0] ?? name))
}

function listed(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

/** Folders of the top that the boundary has of its own, or that are views of the kernel and no files. */
const NOT_OF_THE_HOST: ReadonlySet<string> = new Set(['proc', 'dev', 'sys', 'run', 'tmp', 'toolchain'])

export interface HostTree {
  /** What `--read-host` shows, outermost first: the entries of the filesystem's top, and of /home each folder by itself. */
  readonly paths: readonly string[]
  /** What is not shown although it was asked for, and why. */
  readonly unlisted: readonly string[]
}

/** Throws where the top itself cannot be listed. `privateHome`: the place that our own home folder has inside. */
export function hostTree(privateHome: string): HostTree {
  const unlisted: string[] = []
  const top = readdirSync('/', { withFileTypes: true }).filter(({ name }) => !NOT_OF_THE_HOST.has(name))
  const paths = top.flatMap(entry => {
    const path = `/${entry.name}`
    if (path !== '/home') return isShowable(entry) ? [path] : []
    const landing = land(path, { cwd: '/' })
    if (landing instanceof Refusal || !landing.exists || landing.landed !== path) return []
    return homesIn(path, privateHome, unlisted)
  })
  return { paths: paths.sort(), unlisted }
}

/** A link of the top leads to what is shown by itself, and a programs' folder is linked by the boundary. */
function isShowable(entry: Dirent): boolean {
  return entry.isDirectory() || entry.isFile()
}

function homesIn(folder: string, privateHome: string, unlisted: string[]): string[] {
  try {
    const names = readdirSync(folder, { withFileTypes: true }).filter(isShowable)
    const paths = names.map(({ name }) => `${folder}/${name}`)
    if (paths.includes(privateHome))
      unlisted.push(`${privateHome} of the host: the private home folder is in its place`)
    return paths.filter(path => path !== privateHome)
  } catch {
    unlisted.push(`${folder} cannot be listed`)
    return []
  }
}
