/** Every row, in the order of the table. */
import type { Row } from './row.js'
import { ending } from './rows/ending.js'
import { exec } from './rows/exec.js'
import { flat } from './rows/flat.js'
import { flood } from './rows/flood.js'
import { floorItself } from './rows/floor.js'
import { folders } from './rows/folders.js'
import { gap } from './rows/gap.js'
import { launch } from './rows/launch.js'
import { longRun } from './rows/long-run.js'
import { longStream } from './rows/long-stream.js'
import { peers } from './rows/peers.js'
import { requests } from './rows/requests.js'
import { turn } from './rows/turn.js'
import { version } from './rows/version.js'

export const ROWS: readonly Row[] = [
  floorItself,
  launch,
  peers,
  flat,
  version,
  exec,
  folders,
  turn,
  gap,
  longRun,
  requests,
  longStream,
  flood,
  ending,
]
