/** Every row, in the order of the table. */
import type { Row } from './row.js'
import { ending } from './rows/ending.js'
import { exec } from './rows/exec.js'
import { flood } from './rows/flood.js'
import { floorItself } from './rows/floor.js'
import { folders } from './rows/folders.js'
import { gap } from './rows/gap.js'
import { longRun } from './rows/long-run.js'
import { requests } from './rows/requests.js'
import { turn } from './rows/turn.js'
import { version } from './rows/version.js'

export const ROWS: readonly Row[] = [floorItself, folders, version, exec, turn, gap, longRun, requests, flood, ending]
