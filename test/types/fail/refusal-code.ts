/** Refusal codes are closed. */
import { Refusal } from '../../../src/errors.js'

export const invented = new Refusal('no-such-code', {}, 'never')
