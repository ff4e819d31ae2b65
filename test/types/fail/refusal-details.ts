/** Each code carries its own facts. */
import { Refusal } from '../../../src/errors.js'

export const bare = new Refusal('outside-roots', { path: '/x' }, 'lacks where it lands')
