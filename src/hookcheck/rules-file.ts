/** Rules about the hooks file: what it says is told by the parser, who can write it here. */
import type { AuditContext } from './context.js'
import { faultText, ruleOfFault } from './fault-text.js'
import type { Reported, Rule } from './rule.js'

export const FILE_RULES: readonly Rule[] = [
  {
    id: 'HC101',
    title: 'File does not parse strictly',
    severity: 'error',
    lasting: 'always',
    why: 'JSON.parse keeps the last of two equal keys without a word, so that who reviews and what runs can read two different programs.',
    fix: 'write one JSON object in UTF-8 without a byte order mark, every key once',
    anchor: 'visudo parses the whole policy before it installs it',
  },
  {
    id: 'HC102',
    title: 'Version missing or unsupported',
    severity: 'error',
    lasting: 'always',
    why: 'A later version may mean something stricter by the same words.',
    fix: 'write "version": 1',
    anchor: 'the hook files of other clients carry version 1 too; skillsaw makes a missing version an error',
  },
  {
    id: 'HC103',
    title: 'Unknown or misplaced key',
    severity: 'error',
    lasting: 'always',
    why: 'A key that is misspelt and passed over leaves a hook without its pin, its limit or its tools, and nobody is told.',
    fix: 'use the nearest known key, or take it out',
    anchor: 'systemd-analyze verify tells unknown directives',
  },
  {
    id: 'HC104',
    title: 'Unknown point',
    severity: 'error',
    lasting: 'always',
    why: 'A hook at a point that does not exist looks like one that had no occasion to run.',
    fix: 'name one of before-call, after-call, stop, transition',
    anchor: 'git hook run refuses names it does not know',
  },
  {
    id: 'HC105',
    title: 'Hooks file in reach of the agent',
    severity: 'error',
    lasting: 'always',
    file: ({ fileWalk, reach, document }) => {
      const found = reach(fileWalk)
      if (found === null) return []
      const how = found.path === document.path ? 'is' : `is reached through ${found.path}, which is`
      const message = `the hooks file ${document.path} ${how} in ${found.root}, where the agent can write (${found.source})`
      return [{ path: document.path, step: found.path, message }]
    },
    why: 'The agent would rewrite its own policy.',
    fix: "move the file to the operator's configuration folder, outside of every writable root",
    anchor: 'git honours safe.directory from protected configuration alone',
  },
  {
    id: 'HC106',
    title: 'Hooks file changeable by others',
    severity: 'error',
    lasting: 'always',
    file: changeableFile,
    why: 'Whoever writes it chooses a program that runs on the host.',
    fix: 'chmod go-w on the file and its folders, owner root or the operator, one hard link',
    anchor: 'cronie takes a crontab only as a plain file of the right owner with a narrow mode and one link',
  },
]

function* changeableFile({ fileWalk, judge, document, ids }: AuditContext): Iterable<Reported> {
  const { path } = document
  const { end } = fileWalk
  if (end.kind === 'landed' && end.facts.type !== 'file')
    yield { path, message: `the hooks file is a ${end.facts.type}, not a plain file` }
  for (const fault of judge(fileWalk).faults)
    yield {
      path,
      step: fault.facts.path,
      about: `${ruleOfFault(fault)} ${fault.facts.path}`,
      message: faultText(fault, ids),
    }
  if (end.kind === 'landed' && end.facts.type === 'file' && end.facts.nlink > 1) {
    const message = `the hooks file has ${end.facts.nlink} hard links: it can be written under another name`
    yield { path, about: 'links', severity: 'warn', message }
  }
}
