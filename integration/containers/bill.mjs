/**
 * `node bill.mjs PACKAGES`: the bill of materials of the image it runs in, as one CycloneDX 1.5 document on stdout: the npm
 * packages of PACKAGES (what `npm sbom --sbom-format cyclonedx` has written), the Debian packages that dpkg knows, and
 * the Node that runs it.
 *
 * The same image gives the same bytes: everything is sorted, the serial number is a digest of the rest, and the only time
 * in it is SOURCE_DATE_EPOCH (reproducible-builds.org), where that is set.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'

/** Names of a line `NAME=value` of os-release(5), unquoted. */
function systemOf(text) {
  const found = new Map()
  for (const [, name, value] of text.matchAll(/^([A-Z_]+)="?([^"\n]*)"?$/gm)) found.set(name, value)
  return { id: found.get('ID') ?? 'linux', version: found.get('VERSION_ID') ?? '' }
}

/** A package URL (purl-spec, type `deb`); `:` of an epoch and `+` are encoded. */
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

function bill(packages, epoch) {
  const { metadata, components, dependencies } = packages
  const { timestamp: _now, component, ...about } = metadata
  const product = { ...component, name: 'b10x-harness', type: 'application' }
  const byReference = (one, other) => (one < other ? -1 : 1)
  const body = {
    $schema: packages.$schema,
    bomFormat: packages.bomFormat,
    specVersion: packages.specVersion,
    version: 1,
    metadata: {
      ...(epoch === undefined ? {} : { timestamp: new Date(Number(epoch) * 1000).toISOString() }),
      ...about,
      component: product,
    },
    components: [...components, ...debianComponents(), nodeComponent()].sort((one, other) =>
      byReference(one['bom-ref'], other['bom-ref']),
    ),
    dependencies,
  }
  return { ...body, serialNumber: serialNumber(JSON.stringify(body)) }
}

const packages = JSON.parse(readFileSync(process.argv[2], 'utf8'))
const epoch = process.env.SOURCE_DATE_EPOCH || undefined
process.stdout.write(`${JSON.stringify(bill(packages, epoch), null, 1)}\n`)
