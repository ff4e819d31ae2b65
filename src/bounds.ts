/**
 * Sizes, counts and times that somebody can meet, in one place: the unit is in the name, the reason beside it. A number that
 * only one algorithm or file format knows stands where it is used.
 */

const KiB = 1024
const MiB = 1024 * KiB
const GiB = 1024 * MiB

// --- launches (confinement.md §2, supervision.md) ---
/** Wall clock of one launch unless a tool or flag lowers it. */
export const WALL_MS_DEFAULT = 600_000
/** A timer of Node is a signed 32-bit count of ms; a larger one fires at once, so it is refused instead (case A16). */
export const WALL_MS_MAX = 86_400_000
/** TERM to KILL. */
export const GRACE_MS_DEFAULT = 2_000
/** After the leader's exit, how long output that is still in the pipe is waited for. */
export const DRAIN_MS = 250
/** After KILL, how long a tree may take to be gone before we say that it is not (a process in an uninterruptible wait). */
export const KILL_PROOF_MS = 5_000
/** How long bubblewrap's init may take from its fork to its tie to our life: two system calls, on a machine that gives it no time. */
export const TIE_MS = 10_000
/** How long a launch of `true` may take that is made to see whether a boundary holds; a launcher that hangs holds nothing. */
export const PROBE_MS = 10_000
/** A left-over record: what runs at one time of one run, some 250 bytes each. */
export const LEFT_OVER_BYTES_MAX = 1 * MiB
/** Keys typed into a terminal of ours that its program has not read: more than a paste, and no more is held (supervise/pty.ts). */
export const PTY_KEYS_BYTES_MAX = 1 * MiB
/** Kept per stream, half head and half tail. */
export const OUTPUT_KEPT_BYTES = 64 * KiB
export const MEMORY_BYTES_DEFAULT = 2 * GiB
export const PIDS_DEFAULT = 256
export const FILE_SIZE_BYTES_DEFAULT = 1 * GiB
export const CPU_MS_DEFAULT = 600_000
export const OPEN_FILES_DEFAULT = 1_024
/** Least limit on open files: a shell that starts the command keeps descriptors of its own from 10 on. */
export const OPEN_FILES_MIN = 16
/** tmpfs sizes inside the boundary (decisions 35). */
export const HOME_TMPFS_BYTES = 256 * MiB
export const TMP_TMPFS_BYTES = 1 * GiB
/** MAX_ARG_STRLEN: 32 pages, terminating NUL included (execve(2)). */
export const ARGUMENT_BYTES_MAX = 128 * KiB - 1
/** bubblewrap's own bound on argument words (MAX_ARGS in bubblewrap.c). */
export const BWRAP_WORDS_MAX = 9_000
/** PATH_MAX of Linux without its terminating NUL: what is longer cannot be named again (path_resolution(7)). */
export const PATH_BYTES_MAX = 4_095
/** Links followed before a path is given up (kernel MAXSYMLINKS). */
export const SYMLINKS_MAX = 40
/** Ancestors of protected paths that are bound on themselves (decisions 28). */
export const SELF_BINDS_MAX = 200
/** Entries of a write grant that are looked at for protected names when the policy is landed; reaching it is reported. */
export const GRANT_SCAN_ENTRIES_MAX = 100_000
/**
 * Entries of a write grant, and of the git folders in it, that are looked at afterwards. More than before, because a command that
 * hides something behind many files has to make them, and what installs packages makes a hundred thousand.
 */
export const PLANTED_SCAN_ENTRIES_MAX = 1_000_000
/** /dev/shm inside: as much as container engines give by default. */
export const SHM_TMPFS_BYTES = 64 * MiB
/** Bytes of a git settings file that are read for the places it names. */
export const GIT_CONFIG_BYTES_MAX = 1 * MiB
/** Lines that tell what appeared in the grants: a command can make any number, and a record has to stay readable. */
export const PLANTED_TOLD_MAX = 100
/** Of `--driver`, which is read whole for its digest. */
export const DRIVER_BYTES_MAX = 512 * MiB
/** Mounts one policy may expand to (confinement.md §2). */
export const MOUNTS_MAX = 2_000
/** Directory entries that the patterns of one `--hide` are compared with. */
export const HIDE_SCAN_ENTRIES_MAX = 200_000
/** Rules one policy may expand to under Landlock: each costs its launcher a few system calls. */
export const LANDLOCK_RULES_MAX = 2_000

// --- network by allow-list (confinement.md §9), each of one launch ---
/** `--allow-host` of one run: each is compared with every request. */
export const ALLOWED_HOSTS_MAX = 1_000
/** RFC 1035 §2.3.4. */
export const DNS_NAME_CHARS_MAX = 253
export const DNS_LABEL_CHARS_MAX = 63
/** A name before it is read: one of other letters than ASCII's is shorter than what it becomes, and this is no bound on that. */
export const HOST_TEXT_CHARS_MAX = 1_024
/** Open at one time; a package manager opens some fifty, and each costs us two descriptors. */
export const NETWORK_CONNECTIONS_MAX = 128
/** Head of a request, and of an answer. */
export const NETWORK_HEAD_BYTES_MAX = 64 * KiB
/** From the connection, or the end of the answer before, to the end of a request's head. */
export const NETWORK_HEAD_MS = 30_000
export const NETWORK_LOOKUP_MS = 10_000
/** From the spawn to the listener inside: Node starts in 40 ms, on a machine that gives it no time in many times that. */
export const NETWORK_LISTENER_MS = 20_000
/** Of the four threads that Node has for files and names together. */
export const NETWORK_LOOKUPS_AT_ONCE = 2
export const NETWORK_CONNECT_MS = 15_000
/** Without a byte in either direction. */
export const NETWORK_IDLE_MS = 300_000
/** After the command's end, how long what it has sent may take to be passed on. */
export const NETWORK_DRAIN_MS = 250
/** Kinds of denials that a launch tells, and what is told of a host that is none. */
export const NETWORK_DENIALS_TOLD_MAX = 100
export const NETWORK_DENIED_HOST_CHARS_MAX = 255

// --- chat and the operator's terminal ---
/** One line of stdin; a line of `--input` cannot be longer than an argument. */
export const CHAT_LINE_BYTES_MAX = 1 * MiB
/** Two presses of Ctrl-C within this time leave at once (supervision.md). */
export const SECOND_INTERRUPT_MS = 2_000
/** At a question: more than a person pastes; what comes after it is dropped. */
export const TYPED_AHEAD_BYTES_MAX = 64 * KiB

// --- compaction (contract §6) ---
export const CONTEXT_WINDOW_TOKENS_DEFAULT = 128_000
/** Parts of the window: where room is made, and how much of it is to be left. */
export const COMPACT_AT_SHARE = 0.8
export const COMPACT_TO_SHARE = 0.5
/** The same where no window is known. */
export const COMPACT_AT_BYTES = 192 * KiB
export const COMPACT_TO_BYTES = 96 * KiB
/** Of the newest results, and of the newest turns, that are left alone. */
export const COMPACT_PROTECTED_BYTES_MAX = 48 * KiB
/** Less is not worth a request. */
export const FOLD_BYTES_MIN = 8 * KiB
/** What a summary is made from. */
export const TRANSCRIPT_BYTES_MAX = 128 * KiB
export const TRANSCRIPT_ITEM_BYTES_MAX = 4 * KiB

// --- the loop (contract §7) ---
export const CALL_ARGUMENTS_BYTES_MAX = 64 * KiB
/** Levels of objects and lists in a call's arguments and in an opaque item: some thousand more, and an encoder would leave the stack. */
export const CALL_ARGUMENTS_DEPTH_MAX = 500
/** Delegates that one answer of the model may start; `--delegate-parallel` bounds those at one time. */
export const DELEGATES_PER_TURN_MAX = 64
/** An answer schema is sent with every turn. */
export const ANSWER_SCHEMA_BYTES_MAX = 256 * KiB
export const ANSWER_SCHEMA_DEPTH_MAX = 200
/** What does not fit the schema is told to the model up to here. */
export const ANSWER_PROBLEMS_TOLD_MAX = 20
export const TOOL_RESULT_BYTES_MAX = 256 * KiB
export const INSTRUCTION_BYTES_MAX = 256 * KiB
export const TOOL_DESCRIPTION_BYTES_MAX = 16 * KiB
export const TOOLS_PER_TURN_MAX = 512
export const ID_CHARS_MAX = 256
export const DOCUMENT_BYTES_MAX = 256 * KiB
export const PROJECT_INSTRUCTIONS_BYTES_MAX = 32 * KiB
/** Front matter of a document: real ones have at most a few KiB, and the YAML reader holds each byte many times over. */
export const FRONT_MATTER_BYTES_MAX = 64 * KiB
/** Skills, agents and memories of one run, each kind by itself. */
export const DOCUMENTS_MAX = 5_000
/** A name is sent in a tool's schema with every turn. */
export const DOCUMENT_NAME_CHARS_MAX = 200
/** A description stands in the instruction up to here; the cut is marked. */
export const DOCUMENT_DESCRIPTION_CHARS_MAX = 1_024
/** Extra attempts after the first, and the pauses before each (decisions 25). */
export const RETRY_PAUSES_MS = [500, 1_000, 2_000] as const
export const RETRY_AFTER_MS_MAX = 30_000
/** Requests of one delegate, and delegates at one time where they only read (contract §2.1). */
export const DELEGATE_TURNS_DEFAULT = 20
export const DELEGATE_PARALLEL_DEFAULT = 4
/** How long a model port may take to give up after an abort, before its turn is left behind. */
export const MODEL_ABANDON_MS = 2_000
/** Of our own time: nothing else of the run goes on while an answer is judged, its deadline and Esc included. */
export const ANSWER_DECIDE_MS = 2_000
export const ANSWER_EXPLAIN_MS = 500

// --- wires (contract §7, decisions 25) ---
export const SSE_EVENT_BYTES_MAX = 1 * MiB
export const STREAM_BYTES_MAX = 32 * MiB
export const ERROR_BODY_BYTES_MAX = 2_048
/** Answers 1xx before the one that counts; one that tells the client to go on is usual. */
export const INTERIM_ANSWERS_MAX = 100
/** Calls of one answer: the stream bound would let in 300 000, and each is run, recorded and sent again. */
export const CALLS_PER_TURN_MAX = 512
/** Kinds of events, and of items, that one answer is warned of by name; what else it makes up is one more warning. */
export const UNKNOWN_KINDS_TOLD_MAX = 16
export const CONNECT_MS = 15_000
export const FIRST_BYTE_MS = 180_000
export const STREAM_IDLE_MS_DEFAULT = 60_000
/** After a whole answer, how long the figures that some endpoints send behind it are waited for. */
export const TRAILER_MS = 2_000
/** The Messages API wants a bound in every request (contract §20). */
export const MESSAGES_OUTPUT_TOKENS_DEFAULT = 4_096
/** What a provider says of its refusal; over these it is left out. */
export const REFUSAL_CATEGORY_BYTES_MAX = 128
export const REFUSAL_EXPLANATION_BYTES_MAX = 2_048
/** Any file that is named on the command line and read whole; what it is for has a bound of its own below this. */
export const OPERATOR_FILE_BYTES_MAX = 4 * MiB
/** A key or a token file; a token's JSON document has a few KiB. */
export const CREDENTIAL_BYTES_MAX = 64 * KiB
/** A body that the emulator takes: it is held whole. */
export const EMULATED_REQUEST_BYTES_MAX = 64 * MiB

// --- records ---
/** One line of a run's record: an event holds at most one piece of a stream (1 MiB), escaped six bytes for one. */
export const RECORD_LINE_BYTES_MAX = 8 * MiB
/** Of a word of somebody's document that a message quotes: enough to find it by. */
export const QUOTED_CHARS_MAX = 80

// --- configuration ---
/** Thousands of profiles; the file is held whole, and a refusal parses parts of it again to name a line. */
export const CONFIG_BYTES_MAX = 256 * KiB

// --- file tools (contract §8) ---
/** Made folders that a result names; each label is at most {@link PATH_BYTES_MAX} long. */
export const CREATED_FOLDERS_TOLD = 10
export const READ_BYTES_DEFAULT = 64 * KiB
export const READ_BYTES_MAX = 256 * KiB
export const READ_LINE_CHARS_MAX = 2_000
export const READ_LINE_BYTES_HELD = 8_000
export const READ_COUNT_LINES_BYTES_MAX = 16 * MiB
/** file_edit holds the file three times over while it works. */
export const EDIT_FILE_BYTES_MAX = 16 * MiB
export const LIST_ENTRIES_MAX = 500
export const SEARCH_MATCHES_MAX = 200
export const SEARCH_FILE_BYTES_MAX = 1 * MiB
export const SEARCH_LINE_CHARS_MAX = 400
export const SEARCH_SKIPPED_PATHS_MAX = 20
/** Instructions of a compiled pattern: matching takes at most this many steps a character. */
export const REGEX_PROGRAM_MAX = 10_000
export const FIND_PATHS_MAX = 500
export const WALK_DEPTH_MAX = 12
/** Folders that search and find do not enter. */
export const WALK_SKIPPED = ['.git', 'target', 'node_modules', '.venv', '__pycache__'] as const

// --- hooks (contract §16, decisions 40–42, hookcheck.md §10) ---
export const HOOKS_FILE_BYTES_MAX = 4 * MiB
export const HOOKS_MAX = 10_000
export const HOOKS_DEPTH_MAX = 8
export const HOOK_ENV_NAMES_MAX = 32
export const HOOK_TIMEOUT_MS_MIN = 100
export const HOOK_TIMEOUT_MS_MAX = 600_000
/** One consultation: all programs that are asked about one call, one ending or one section. */
export const HOOK_CONSULTATION_MS_DEFAULT = 60_000
/** TERM to KILL of a hook (supervision.md). */
export const HOOK_GRACE_MS = 1_000
/** More than this on stdout is a failed hook, ended at once. */
export const HOOK_STDOUT_BYTES_MAX = 16 * KiB
/** Kept of a hook's stderr; a cut is marked. */
export const HOOK_STDERR_KEPT_BYTES = 16 * KiB
/** Continuations that stop hooks can bring about in one run. */
export const STOP_CONTINUATIONS_MAX = 3
/** A closure has a handful of members; the bytes bound everything. */
export const HOOKS_LOCK_BYTES_MAX = 4 * HOOKS_FILE_BYTES_MAX
/** Findings that are put up with, some hundred bytes each. */
export const HOOK_ALLOW_BYTES_MAX = 1 * MiB
/** What hookcheck takes a write set or the hooks of another client from. */
export const HOOKCHECK_INPUT_BYTES_MAX = 16 * MiB
/** A document for the probes of hookcheck. */
export const HOOK_SAMPLE_BYTES_MAX = 4 * MiB
/** Of a script, read for what it does and for its line ends. */
export const SCRIPT_BYTES_MAX = 256 * KiB
/** Entries of the write set that hookcheck --deep looks at; reaching it is told. */
export const DEEP_ENTRIES_MAX = 200_000

// --- YAML: flows, scenarios, front matter ---
/** Collections in collections. The library's composer has room for some 800 on the stack of a fresh process. */
export const YAML_DEPTH_MAX = 200
/** What is told of a text that is wrong is the first of it. */
export const YAML_ERRORS_MAX = 100

// --- workflows (contract §22) ---
/** The YAML reader holds each byte some hundred times over. */
export const FLOW_BYTES_MAX = 1 * MiB
/** Values that a document comes to, with its aliases written out: each node of a flow has some twenty. */
export const FLOW_TREE_NODES_MAX = 250_000
/** Groups in groups take two levels each, and a step five more. */
export const FLOW_TREE_DEPTH_MAX = 64
export const FLOW_NODES_MAX = 10_000
/** Groups in groups: a section's path is a part of the name of its session. */
export const FLOW_DEPTH_MAX = 16
export const FLOW_ATTEMPTS_MAX = 1_000
/** Events that wait for the turn of their section in the record; beyond them no further section is begun. */
export const FLOW_HELD_EVENTS_MAX = 100_000
/** Steps at one time (decisions 1). */
export const FLOW_PARALLEL_DEFAULT = 4

// --- sessions (contract §17, decisions 12) ---
/** A file name has 255 bytes (NAME_MAX), and a lock's name is longer than the session's. */
export const SESSION_ID_CHARS_MAX = 160
/** A session is read whole to be resumed; a run that would pass this stops. */
export const SESSION_BYTES_MAX = 256 * MiB
/** The first line: paths and names of a few KiB. */
export const SESSION_HEADER_BYTES_MAX = 64 * KiB
/** Read from the end of a session at first when it is listed. */
export const SESSION_TAIL_BYTES = 16 * KiB
/** Session files that are looked at in one listing; more are said. */
export const SESSIONS_LISTED_MAX = 100_000
