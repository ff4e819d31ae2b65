/**
 * Names of environment variables by what they do to a program: A runs or loads code, B redirects configuration, trust or
 * traffic, C carries a credential. Nothing is inherited by these lists: they judge what an operator adds (hookcheck.md
 * §5.2–5.4, whose sources are the loader's unsecure list (ld.so(8)), sudo's and flatpak's tables, perlrun(1), git(1),
 * environ(7) and the manuals of the runtimes). Pure.
 */

export type NameClass = 'A' | 'B' | 'C'

/** The name of an environment variable, as a shell can set it. */
export const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/

/** `*` stands for any characters. Compared in upper case. */
// biome-ignore format: families of words
const RUNS_CODE: readonly string[] = [
  // the loader and the C library
  'LD_*', 'GLIBC_TUNABLES', 'GCONV_PATH', 'GETCONF_DIR', 'LOCPATH', 'NLSPATH', 'NIS_PATH', 'MALLOC_TRACE',
  'RESOLV_HOST_CONF', 'RES_OPTIONS', 'HOSTALIASES', 'LOCALDOMAIN', 'TZDIR',
  // other loaders
  'DYLD_*', '_RLD*', 'SHLIB_PATH', 'LDR_*', 'LIBPATH', 'AUTHSTATE',
  // shells
  'BASH_ENV', 'ENV', 'KSH_ENV', 'SHELLOPTS', 'BASHOPTS', 'PS4', 'IFS', 'CDPATH', 'GLOBIGNORE', 'FPATH', 'ZDOTDIR', 'NULLCMD',
  'READNULLCMD', 'TMPPREFIX', 'PROMPT_COMMAND', 'FCEDIT', 'BASH_FUNC_*', '__BASH_FUNC*',
  // Node and its kin
  'NODE_OPTIONS', 'NODE_PATH', 'NODE_REPL_EXTERNAL_MODULE', 'NODE_REDIRECT_WARNINGS', 'NODE_V8_COVERAGE',
  'NODE_COMPILE_CACHE', 'ELECTRON_RUN_AS_NODE', 'TS_NODE_*', 'BUN_*', 'DENO_*', 'NPM_CONFIG_*', 'YARN_*', 'PNPM_*',
  'COREPACK_*',
  // Python
  'PYTHON*', 'PIP_*', 'UV_*',
  // Perl, Ruby
  'PERL5*', 'PERLLIB', 'PERLIO_DEBUG', 'PERL_USE_UNSAFE_INC', 'RUBYOPT', 'RUBYLIB', 'RUBYSHELL', 'GEM_HOME', 'GEM_PATH',
  'BUNDLE_*',
  // JVM, .NET
  'JAVA_TOOL_OPTIONS', '_JAVA_OPTIONS', 'JDK_JAVA_OPTIONS', 'JAVA_OPTS', 'CLASSPATH', 'MAVEN_OPTS', 'GRADLE_OPTS', 'SBT_OPTS',
  'ANT_OPTS', 'CATALINA_OPTS', 'DOTNET_STARTUP_HOOKS', 'DOTNET_ADDITIONAL_DEPS', 'CORECLR_*', 'COR_*', 'COMPLUS_*',
  // other runtimes
  'LUA_INIT*', 'LUA_PATH*', 'LUA_CPATH*', 'PHPRC', 'PHP_INI_SCAN_DIR', 'R_PROFILE*', 'R_ENVIRON*', 'R_LIBS*', 'TCLLIBPATH',
  'ERL_*FLAGS', 'ELIXIR_ERL_OPTIONS', 'JULIA_*', 'EMACSLOADPATH', 'VIMINIT', 'EXINIT', 'GVIMINIT', 'MYVIMRC',
  // version control
  'GIT_*', 'HGRCPATH', 'HGEDITOR', 'HGMERGE', 'SVN_EDITOR', 'SVN_SSH', 'BZR_*',
  // building
  'MAKEFILES', 'MAKEFLAGS', 'GNUMAKEFLAGS', 'MFLAGS', 'MAKE', 'CC', 'CXX', 'CPP', 'LD', 'AR', 'RUSTC*', 'RUSTDOC', 'CARGO_*',
  'GOFLAGS', 'GOENV', 'CGO_*', 'CMAKE_*', 'CONFIG_SITE', 'CONFIG_SHELL', 'PKG_CONFIG*',
  // programs that others start
  'EDITOR', 'VISUAL', 'PAGER', 'MANPAGER', 'LESSOPEN', 'LESSCLOSE', 'BROWSER', 'SSH_ASKPASS', 'SUDO_ASKPASS', 'SUDO_EDITOR',
  'RSYNC_RSH', 'CVS_RSH', 'TAR_OPTIONS',
  // cryptography, desktops, terminals, Kerberos
  'OPENSSL_CONF', 'OPENSSL_ENGINES', 'OPENSSL_MODULES', 'GTK_MODULES', 'GTK_PATH', 'GIO_EXTRA_MODULES', 'GST_PLUGIN_*',
  'GST_*HELPER*', 'QT_PLUGIN_PATH', 'QT_QPA_*', 'VK_*LAYER*', 'VK_*DRIVER*', '__EGL_*', 'TERMINFO', 'TERMINFO_DIRS', 'TERMPATH',
  'TERMCAP', 'KRB5_CONFIG*', 'KRB5_KTNAME',
]

/** Of the families above, those that only narrow or only change how output looks. */
// biome-ignore format: families of words
const HARMLESS: ReadonlySet<string> = new Set([
  'PYTHONSAFEPATH', 'PYTHONNOUSERSITE', 'PYTHONDONTWRITEBYTECODE', 'PYTHONUNBUFFERED', 'PYTHONUTF8', 'PYTHONHASHSEED',
  'GIT_TERMINAL_PROMPT', 'GIT_OPTIONAL_LOCKS', 'UV_THREADPOOL_SIZE',
])

// biome-ignore format: families of words
const REDIRECTS: readonly string[] = [
  'XDG_*', 'VIRTUAL_ENV', 'CONDA_*', 'RUSTUP_*', 'GOPATH', 'GOPROXY', 'CURL_HOME', 'WGETRC', 'SSL_CERT_FILE', 'SSL_CERT_DIR',
  'CURL_CA_BUNDLE', 'REQUESTS_CA_BUNDLE', 'NODE_EXTRA_CA_CERTS', 'NODE_TLS_REJECT_UNAUTHORIZED', 'SSLKEYLOGFILE',
  'HTTP_PROXY', 'HTTPS_PROXY', 'FTP_PROXY', 'ALL_PROXY', 'NO_PROXY', 'DOCKER_*', 'KUBECONFIG', 'HELM_*', 'TF_*', 'ANSIBLE_*',
  'COMPOSER_*', 'DISPLAY', 'XAUTHORITY', 'WAYLAND_DISPLAY', 'DBUS_SESSION_BUS_ADDRESS', 'TMP', 'TEMP', 'UV_THREADPOOL_SIZE',
]

// biome-ignore format: families of words
const CREDENTIALS: readonly string[] = [
  '*TOKEN*', '*SECRET*', '*PASSWD*', '*PASSWORD*', '*PASSW*', '*PRIVATE*', '*CREDENTIAL*', '*API_KEY*', '*APIKEY*', '*_KEY',
  '*AUTH*', 'SSH_AUTH_SOCK', 'GPG_AGENT_INFO', 'KRB5CCNAME', 'AWS_*', 'AZURE_*', 'GOOGLE_APPLICATION_CREDENTIALS', 'DATABASE_URL',
]

function matcher(patterns: readonly string[]): RegExp {
  const bodies = patterns.map(pattern => pattern.replaceAll('*', '.*'))
  return new RegExp(`^(?:${bodies.join('|')})$`)
}

const CLASSES: readonly (readonly [NameClass, RegExp])[] = [
  ['A', matcher(RUNS_CODE)],
  ['B', matcher(REDIRECTS)],
  ['C', matcher(CREDENTIALS)],
]

/** The class of a variable; null for one that is in none. Letter case does not matter: some programs fold it. */
export function classOf(name: string): NameClass | null {
  const upper = name.toUpperCase()
  const found = CLASSES.find(([kind, pattern]) => pattern.test(upper) && !(kind === 'A' && HARMLESS.has(upper)))
  return found?.[0] ?? null
}

/** Names that the harness itself gives to a hook, or keeps for itself. */
const OURS = /^HARNESS_/i
/** Built for each hook from what was judged; an inherited value would undo that. */
const JUDGED: ReadonlySet<string> = new Set(['PATH', 'HOME', 'TMPDIR'])

/** Why no hook is ever given this variable, and what to do instead; null where it may be passed on. */
export function refusedName(name: string): string | null {
  if (OURS.test(name)) return 'names that begin with HARNESS_ are ours'
  if (JUDGED.has(name)) return 'every hook is given one that was judged, and an inherited one would undo that'
  if (classOf(name) !== 'A') return null
  return 'it makes programs load or run code: set it inside the hook'
}

/** True for a value that an old shell would take for a function and run (`() {`). */
export function runsAsFunction(value: string): boolean {
  return /^\s*\(\)\s*\{/.test(value)
}
