/**
 * `node bill.mjs FOLDER`: the bill of materials of the image it runs in, as one CycloneDX 1.5 document on stdout: the package installed
 * in FOLDER with what npm has installed below it (its own record, `node_modules/.package-lock.json`), the Debian packages
 * that dpkg knows, and the Node that runs it. (`npm sbom` leaves out what a development dependency needs too, where those are left out.)
 *
 * The same image gives the same bytes: everything is sorted, the serial number is a digest of the rest, and the only time
 * in it is SOURCE_DATE_EPOCH (reproducible-builds.org), where that is set.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A package URL (purl-spec, type `npm`): a scope keeps its slash. */
function npmUrl(name, version) {
  return `pkg:npm/${name.split('/').map(encodeURIComponent).join('/')}@${version}`
}

/** An SPDX identifier, or an expression of several. */
function licensesOf(license) {
  if (typeof license !== 'string') return {}
  return { licenses: [/^[\w.+-]+$/.test(license) ? { license: { id: license } } : { expression: license }] }
}

/** Subresource integrity (`sha512-` and base64) as CycloneDX has it. */
function hashesOf(integrity) {
  const [algorithm, digest] = integrity?.split('-') ?? []
  if (algorithm !== 'sha512' || digest === undefined) return {}
  return { hashes: [{ alg: 'SHA-512', content: Buffer.from(digest, 'base64').toString('hex') }] }
}

function npmComponents(folder) {
  const { packages } = JSON.parse(readFileSync(join(folder, 'node_modules/.package-lock.json'), 'utf8'))
  const components = Object.entries(packages).map(([path, { version, license, integrity }]) => {
    const name = path.split('node_modules/').at(-1)
    const purl = npmUrl(name, version)
    return { 'bom-ref': purl, type: 'library', name, version, purl, ...licensesOf(license), ...hashesOf(integrity) }
  })
  // One version may be installed in several places.
  return [...new Map(components.map(component => [component.purl, component])).values()]
}

/** Names of a line `NAME=value` of os-release(5), unquoted. */
function systemOf(text) {
  const found = new Map()
  for (const [, name, value] of text.matchAll(/^([A-Z_]+)="?([^"\n]*)"?$/gm)) found.set(name, value)
  return { id: found.get('ID') ?? 'linux', version: found.get('VERSION_ID') ?? '' }
}

/** A package URL (type `deb`); `:` of an epoch and `+` are encoded. */
function debianComponent(line, system) {
  const [name, version, architecture] = line.split('\t')
  const distro = system.version === '' ? '' : `&distro=${encodeURIComponent(`${system.id}-${system.version}`)}`
  const purl = `pkg:deb/${system.id}/${encodeURIComponent(name)}@${encodeURIComponent(version)}?arch=${architecture}${distro}`
  return { 'bom-ref': purl, type: 'library', name, version, purl }
}

function debianComponents() {
  const system = systemOf(readFileSync('/etc/os-release', 'utf8'))
  const format = '${db:Status-Abbrev}\t${Package}\t${Version}\t${Architecture}\n'
  const lines = execFileSync('dpkg-query', ['--show', '--showformat', format], { encoding: 'utf8' }).split('\n')
  return lines.filter(line => line.startsWith('ii')).map(line => debianComponent(line.replace(/^[^\t]*\t/, ''), system))
}

function nodeComponent() {
  const version = process.versions.node
  const purl = `pkg:generic/node@${version}`
  return { 'bom-ref': purl, type: 'platform', name: 'node', version, purl }
}

/** RFC 9562, version 8: bits of a digest. */
function serialNumber(text) {
  const hex = createHash('sha256').update(text).digest('hex')
  const variant = '89ab'[Number.parseInt(hex[16], 16) % 4]
  return `urn:uuid:${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

function bill(folder, epoch) {
  const { name, version, description, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const purl = npmUrl(name, version)
  const about = { 'bom-ref': purl, type: 'application', name, version, description, purl, ...licensesOf(license) }
  const components = [...npmComponents(folder), ...debianComponents(), nodeComponent()]
  const body = {
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    version: 1,
    metadata: {
      ...(epoch === undefined ? {} : { timestamp: new Date(Number(epoch) * 1000).toISOString() }),
      component: about,
    },
    components: components.sort((one, other) => (one.purl < other.purl ? -1 : 1)),
  }
  return { ...body, serialNumber: serialNumber(JSON.stringify(body)) }
}

const epoch = process.env.SOURCE_DATE_EPOCH || undefined
process.stdout.write(`${JSON.stringify(bill(process.argv[2], epoch), null, 1)}\n`)
