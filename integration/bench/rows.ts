/** Every row, in the order of the table. */
import type { Row } from './row.js'
import { cancel } from './rows/cancel.js'
import { delegates } from './rows/delegates.js'
import { doctor } from './rows/doctor.js'
import { ending } from './rows/ending.js'
import { endless } from './rows/endless.js'
import { exec } from './rows/exec.js'
import { flat } from './rows/flat.js'
import { flood } from './rows/flood.js'
import { floorItself } from './rows/floor.js'
import { flowKills } from './rows/flow-kills.js'
import { flows } from './rows/flows.js'
import { folders } from './rows/folders.js'
import { gap } from './rows/gap.js'
import { hookcheckRow } from './rows/hookcheck.js'
import { hooks } from './rows/hooks.js'
import { killed } from './rows/killed.js'
import { launch } from './rows/launch.js'
import { longRun } from './rows/long-run.js'
import { longStream } from './rows/long-stream.js'
import { peers } from './rows/peers.js'
import { policyRow } from './rows/policy.js'
import { proxy } from './rows/proxy.js'
import { rate } from './rows/rate.js'
import { requests } from './rows/requests.js'
import { sessions } from './rows/sessions.js'
import { skills } from './rows/skills.js'
import { soakRow } from './rows/soak.js'
import { streams } from './rows/streams.js'
import { turn } from './rows/turn.js'
import { version } from './rows/version.js'

export const ROWS: readonly Row[] = [
  floorItself,
  launch,
  rate,
  peers,
  flat,
  policyRow,
  proxy,
  version,
  exec,
  folders,
  doctor,
  skills,
  turn,
  gap,
  delegates,
  longRun,
  sessions,
  flows,
  flowKills,
  requests,
  hooks,
  hookcheckRow,
  longStream,
  flood,
  endless,
  ending,
  cancel,
  killed,
  soakRow,
  streams,
]
