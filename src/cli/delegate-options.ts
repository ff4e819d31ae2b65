/** `--delegate` and its numbers → what the loop needs to start delegates, and their sessions. */
import { DELEGATE_PARALLEL_DEFAULT, DELEGATE_TURNS_DEFAULT } from '../bounds.js'
import { Refusal } from '../errors.js'
import type { ChildFacts, DelegateOptions } from '../loop/run-state.js'
import type { Session } from '../session/session.js'
import type { OperatorFiles } from './context-files.js'
import type { Io } from './io.js'
import type { Given } from './parse.js'
import { modelNamed } from './provider-options.js'
import { whole } from './run-options.js'
import { closeSession } from './session-options.js'
import { standingContext } from './standing-context.js'
import type { Surroundings } from './surroundings.js'

const NUMBERS = ['--delegate-turns', '--delegate-parallel'] as const

/** Of every command that takes them: numbers of delegates need delegates. */
export function refuseDelegateNumbers(given: Given): void {
  const alone = given.has('--delegate') ? undefined : NUMBERS.find(flag => given.has(flag))
  for (const flag of NUMBERS) whole(given, flag)
  if (alone === undefined) return
  throw new Refusal(
    'bad-arguments',
    { argument: alone },
    `${given.told(alone)} needs --delegate: add it, or leave it out`,
  )
}

export interface DelegateSeams {
  readonly given: Given
  readonly io: Pick<Io, 'err'>
  readonly surroundings: Surroundings
  readonly files: OperatorFiles
  /** Null: none is filed. */
  readonly session: Session | null
}

/** Undefined without `--delegate`. */
export function delegateOptions({
  given,
  io,
  surroundings,
  files,
  session,
}: DelegateSeams): DelegateOptions | undefined {
  if (!given.has('--delegate')) return undefined
  let opened = 0
  return {
    turnsMax: whole(given, '--delegate-turns') ?? DELEGATE_TURNS_DEFAULT,
    parallel: whole(given, '--delegate-parallel') ?? DELEGATE_PARALLEL_DEFAULT,
    agents: surroundings.documents.agents,
    modelNamed: asked => modelNamed(given, asked),
    contextOf: child => standingContext(given, forChild(surroundings, child), files, { child }),
    ...(session === null
      ? {}
      : {
          openJournal: ({ model, tools }) => {
            opened += 1
            const journal = session.child(opened, model)
            journal.withheld(tools.withheld)
            return { journal, close: () => closeSession(journal, io) }
          },
        }),
  }
}

/** A delegate has no delegates, so it is told of no agents. */
function forChild(surroundings: Surroundings, { tools }: ChildFacts): Surroundings {
  return { ...surroundings, tools, documents: { ...surroundings.documents, agents: [] } }
}
