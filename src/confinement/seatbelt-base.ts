/**
 * The part of a seatbelt profile that no policy changes: the table of what tools need (`native-profiles/seatbelt-needs.json`)
 * as rules. Pure; every byte is ours, so nothing of a user stands in it.
 */
import table from '../../native-profiles/seatbelt-needs.json' with { type: 'json' }

/** When a need is met: in every profile, or only in one that opens what it is for. `withheld`: never, and the table says why. */
export type NeedWhen = 'always' | 'network' | 'ptys' | 'terminal' | 'withheld'

const HEAD = `\
(version 1)
; What no rule speaks of is denied. Of the rules that match, the last one decides.
(deny default)
; A second name of a file would be judged by that name, so none is made.
(deny file-link)
`

/** The rules of one condition, each need under a line that names it; empty where there are none. */
export function needRules(when: Exclude<NeedWhen, 'withheld'>): string {
  return table.needs
    .filter(need => need.when === when)
    .map(({ need, for: tools, rules }) => `; ${need}: ${tools.join(', ')}\n${rules.map(rule => `${rule}\n`).join('')}`)
    .join('')
}

/** What every profile begins with; `native-profiles/seatbelt-base.sb` holds the same bytes. */
export function baseProfile(): string {
  return `${HEAD}${needRules('always')}`
}
