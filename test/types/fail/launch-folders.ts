/** A verdict on folders is made by the checker alone. */
import { LaunchFolders } from '../../../src/paths/launch-folders.js'

export const forged = new LaunchFolders()
