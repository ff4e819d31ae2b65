/** `--deep`: other names of a hook's files in the write set. A hard link there is the file itself, writable by the agent. */
import { DEEP_ENTRIES_MAX } from '../bounds.js'
import { type FileView, isUnseen, type PathFacts } from '../paths/file-view.js'
import { type AuditContext, presentMembers } from './context.js'
import type { Reported, Rule } from './rule.js'

/** `rule` is HC307, whose question this answers. */
export function deepLinksRule(rule: Rule): Rule {
  return { ...rule, file: otherNames }
}

function* otherNames(audit: AuditContext): Iterable<Reported> {
  const wanted = new Map<string, string>()
  for (const hook of audit.hooks) {
    for (const { path, facts } of presentMembers(hook)) {
      if (facts !== null && facts.type === 'file' && facts.nlink > 1) wanted.set(keyOf(facts), path)
    }
  }
  if (wanted.size === 0) return
  let looked = 0
  const roots = audit.writeSet.places.filter(({ kind }) => kind === 'root').map(({ landed }) => landed)
  for (const facts of entriesBelow(roots, audit.view)) {
    looked += 1
    if (looked > DEEP_ENTRIES_MAX) {
      yield {
        about: 'deep bound',
        severity: 'warn',
        message: `the write set has more than ${DEEP_ENTRIES_MAX} entries: not all of it was searched for other names`,
      }
      return
    }
    const path = wanted.get(keyOf(facts))
    if (path !== undefined && facts.path !== path)
      yield {
        path,
        step: facts.path,
        severity: 'error',
        message: `${facts.path}, which the agent can write, is another name of ${path}`,
      }
  }
}

function keyOf({ dev, ino }: PathFacts): string {
  return `${dev} ${ino}`
}

/** Everything below the folders, links not followed. */
function* entriesBelow(roots: readonly string[], view: FileView): Generator<PathFacts> {
  const folders = [...roots]
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    const names = view.list(folder)
    if (isUnseen(names)) continue
    for (const name of names) {
      const facts = view.lstat(folder === '/' ? `/${name}` : `${folder}/${name}`)
      if (isUnseen(facts)) continue
      if (facts.type === 'folder') folders.push(facts.path)
      yield facts
    }
  }
}
