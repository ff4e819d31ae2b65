/** The programs' version, put in by the build; the library run from its sources says 0.0.0. */
declare const HARNESS_VERSION: string | undefined

export const VERSION = typeof HARNESS_VERSION === 'string' ? HARNESS_VERSION : '0.0.0'
