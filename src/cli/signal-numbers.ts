/** Signal names → numbers of this platform, for statuses of the form 128+n (POSIX shell, "Exit Status for Commands"). */
import { constants } from 'node:os'

export const SIGNAL_NUMBERS: Readonly<Record<NodeJS.Signals, number>> = constants.signals
