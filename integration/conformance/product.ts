/** The backends that have to hold: the product, by its library and by its command line. */
import type { Backend } from './backend.js'
import { commandLineBackend } from './product-cli.js'
import { libraryBackend } from './product-library.js'

/** By name; made on first use, so that a broken backend loads nothing of the product. */
export const PRODUCT_BACKENDS = {
  library: () => libraryBackend('bubblewrap'),
  'library-hostproc': () => libraryBackend('bubblewrap-hostproc'),
  'library-landlock': () => libraryBackend('landlock'),
  cli: () => commandLineBackend('native'),
  'cli-landlock': () => commandLineBackend('landlock'),
} as const satisfies Record<string, () => Backend>

export type ProductName = keyof typeof PRODUCT_BACKENDS
