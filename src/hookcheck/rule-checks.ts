/**
 * What each rule looks at, in words: for `--explain`, and for the descriptions of rules in other formats. Apart from the
 * rules themselves, because an audit needs none of it. Data.
 */
export const WHAT_IS_CHECKED: Readonly<Record<string, string>> = {
  HC001:
    'Any lstat, open or read that a verdict needs failed, or something of ours did. A program that can be executed and not read: a warning.',
  HC002:
    'We are uid 0, the map of user ids is not the identity map, or a step has the overflow uid of a partial map. An owner that nobody in this namespace can be is taken for nobody, where neither group nor others may write.',
  HC003:
    'Neither a policy nor --workspace or --writable was given; then the repository of the working folder and the system’s temporary folders count as written by the agent. An error in strict.',
  HC004:
    'A step on a filesystem whose permissions are not its own (NFS, SMB, FUSE, 9p, overlay with an unknown lower side), an access control list that mode bits do not show, or a program on a volatile mount. An error in strict.',
  HC101:
    'At most 4 MiB of UTF-8 without a byte order mark; one JSON object; no key twice at any level; at most 8 levels; no __proto__ or constructor keys. Line and column are told.',
  HC102: '"version" is the number 1.',
  HC103:
    'Only keys that are known, where they belong; the nearest known key is told. With --compat original every key that the first loader does not know is told too.',
  HC104: '"on" is before-call, after-call, stop or transition.',
  HC105: 'The hooks file, a step to it, or a link on the way to it lies in the write set.',
  HC106:
    'The hooks file is a plain file of a trusted owner that neither group nor others may write, reached by safe steps. More than one hard link: a warning.',
  HC201:
    'A list of strings; the first not empty; no NUL and no lone surrogate; each under 128 KiB, all of them well below what execve takes.',
  HC202: 'The program has a slash and does not begin with one.',
  HC203: 'The program has no slash. It is looked up as a start does it, and every match is told in order.',
  HC204:
    'Missing, a folder, a FIFO, socket or device, not executable for us, on a mount with noexec; the errno is told with its meaning. Whether somebody has it open for writing now (ETXTBSY) is not looked at.',
  HC205:
    'A shell with -c or the like, env -S, xargs, find -exec, ssh; words with ~/, $NAME, backticks, |, &&, ;, > or a glob, which no shell will expand. An error where the text of the shell holds a placeholder.',
  HC206:
    'npx, npm exec, pnpm dlx, yarn dlx, bunx, uvx, pipx run, go run of a version, deno run of an address, nix run, containers without a digest, curl or wget into an interpreter.',
  HC207:
    'setsid, nohup, systemd-run, at, screen, tmux; sudo, doas, pkexec, su, runuser, setpriv, unshare, nsenter; timeout.',
  HC301:
    'For each file of the closure: writable by others, by a group that is not trusted, or through an access control list.',
  HC302: 'For each folder on the way: writable by others, where no sticky bit protects the name that was passed.',
  HC303: 'The owner of a file of the closure, or of a folder on the way, is neither we nor root.',
  HC304:
    'A link in a folder that others may write, a link of somebody else in a sticky folder, or a link that leads into the write set. Every other link is told as a note.',
  HC305:
    'Every file of the closure and every step to it, by device and inode, by path and by the mount table, against everything the agent can write.',
  HC306:
    'A link that leads nowhere, a folder or a script argument that is not there. An error where somebody we do not trust could make it.',
  HC307:
    'More than one hard link; a warning where the write set has a folder on the same device. With --deep the write set is searched for the other name.',
  HC308:
    'With --deep, access control lists as the system’s own tools tell them. On Linux the mode shows what a list grants, and the list only explains it; on macOS it shows nothing.',
  HC309: 'Set-user-id and set-group-id bits of a file of the closure; with --deep also file capabilities.',
  HC401: 'The first bytes are no "#!", no ELF and, on macOS, no Mach-O, and the kernel has no handler for them.',
  HC402:
    'An empty file, a script that is only comments, or one that only says exit 0, true or pass; a program that is true, or cat.',
  HC403:
    'The interpreter is missing, relative, a folder, not executable or on a mount with noexec; more than five scripts in a chain.',
  HC404:
    'A carriage return before the first newline, a byte order mark, or bytes before the "#!". Carriage returns further down in a shell script: a warning.',
  HC405: 'More than 255 bytes behind "#!" (over 127: a warning); more than one argument without env -S.',
  HC406: 'The interpreter is looked up by env; the result in the PATH of hooks is told.',
  HC407:
    'Interpreters, the ELF loader and the folders that a program looks for libraries in, judged as HC301 to HC309 judge the program.',
  HC408:
    'The class and machine of an ELF file against this machine; a handler of binfmt_misc; on macOS quarantine and slices.',
  HC409:
    'zsh, fish, csh, login and interactive shells, Python with user packages, bun, PowerShell, R, PHP and git: the files they read by themselves. An error where one can be written by the agent or others.',
  HC501:
    'Leading, trailing or double colon; "."; an entry without a leading "/", with a ".." component, or with an unexpanded "~" or "$".',
  HC502:
    'Every step to the entry; the entry itself, where a sticky bit does not help; whether it lies in the write set, holds a root of it, or does not exist where somebody may make it.',
  HC503:
    'For each name that is looked up (program, interpreter behind env, common tools named in a shell script): all matches in the PATH of hooks.',
  HC504:
    '"env" of the hook names a variable that makes programs load or run code, or one whose value an old shell takes for a function ("() {"). A warning where the command sets such a variable through env, an error where its value leads into the write set.',
  HC505:
    '"env" names a variable that redirects configuration, trust or traffic, or that carries a credential; or one whose value points into the write set.',
  HC506:
    'HOME as hooks get it, and the folder in which their private TMPDIR is made: in the write set (an error), missing, relative, owned by another user, or writable by everybody without a sticky bit.',
  HC507: 'Descriptors above 2 without close-on-exec in this program, which was started as the harness is.',
  HC601:
    'It exists, is a folder that may be entered, and neither it nor a link on the way to it lies in the write set.',
  HC602:
    'python -c, -m or from stdin without -I or -P; node -e, -p, --require or --import with a relative or bare name; ruby -I. or -r./; perl -I.; php; lua; java without a class path. An error where the working folder lies in the write set.',
  HC603:
    'The program is one that obeys files of the folder it works on (package managers, build tools, linters with plugins, git). An error where its working folder or an argument lies in the write set. A warning where a shell script calls one.',
  HC604:
    'The folder of a Python script, where a planted module wins; for Node every folder above the script in which a node_modules or a package.json could be made; pyvenv.cfg beside an interpreter. Nobody else and not the agent may make a name there.',
  HC605:
    'An argument, also behind "=", that names an existing path in the write set; one that looks like a token, a private key or a password.',
  HC701:
    '"tools" names no tool of this harness (other case, hyphens, a pattern, several names in one string), is empty, or stands at a point where no tool is called.',
  HC702:
    'timeout-ms is no whole number from 100 to 600000 (an error); over 60 s at before-call; under 500 ms for node, java and python; the hooks of one call together take longer than the call is waited for.',
  HC703:
    'A hook at stop or after-call whose name or program says that it enforces something (deny, guard, block, require, policy, secret).',
  HC704:
    'A hook at before-call names some tools that write or run programs and not all; two hooks are the same; no hook at before-call at all (a note).',
  HC705:
    'In a shell script "|| true", "|| exit 0", "set +e", a trap that ends with 0, a last "exit 0" or jq without "set -e"; in Node and Python an exception that is caught and ends with 0. A heuristic over the text.',
  HC706:
    'The program is the hook itself and ends with 2 for errors of its own (grep, jq, make, linters), or is an interpreter that ends with 2 when its script is missing or broken.',
  HC707:
    'Its text reads tool_name, tool_input or CLAUDE_* variables, answers with permissionDecision, decision or continue, or ends with 1 to block and never with 2.',
  HC801:
    'A hook at before-call or transition has neither a digest nor an entry in the lock. A note where root owns every file of its closure; a warning where you can write one; an error in strict.',
  HC802:
    'SHA-256 over the bytes read through the descriptor that was judged, compared with the digest of the hooks file and of the lock; the lock against the hooks file itself.',
  HC803:
    'A digest that is not sha256: and 64 lower-case hex digits (an error); a pin of the program that leaves out the script it runs or an interpreter that is not the system’s; a pin of a file that the distribution updates (a note).',
  HC804:
    'The lock is judged as the hooks file is: in the write set, writable by others, not readable. A lock older than the last change of the hooks file, and entries for hooks that are gone, are told.',
  HC805:
    'Every step is looked at again when the audit is done, and differs in device, inode, owner, mode or change time.',
  HC806:
    'An entry of hookcheck-allow.json that is past its "until", matches nothing, has no reason, or names a rule that cannot be ignored; the file is judged as the hooks file is.',
  HC901:
    'The program is started as a run starts it; the errno is told, and compared with what the audit of its files said.',
  HC902:
    'No answer within the timeout (an error); the 95th percentile over half of it or the slowest run over four fifths; else the times as a note.',
  HC903:
    'A harmless document for the point and each tool: any ending but 0 and 2 fails, 2 is a warning; documents of --sample get the verdict they should.',
  HC904:
    'Status 2 without {"reason": "…"} on stdout; output over 16 KiB, not UTF-8, two JSON documents, or JSON with text around it. Warnings: a refusal in the dialect of another client with status 0, a reason that is long or holds control characters.',
  HC905:
    'At gates: empty input, {}, null, truncated JSON, wrong types. Status 0 to any of them is a yes to something that was not read.',
  HC906: 'An unknown "hook" value, unknown fields, text beyond ASCII, nesting of 64 levels.',
  HC907: 'A document of 1 MiB, and one without a newline at its end: a hook that hangs or fails on them.',
  HC908:
    'A process with the cookie of the launch after the hook has ended; its output held open 250 ms later; TERM ignored (a warning). A process that empties its environment and leaves its session cannot be found.',
  HC909:
    'Commands in shell, Python and JavaScript form in every string of the document, each of which would make one marker file.',
  HC910: 'The same document seven times, and four at once: another verdict, or more than four times as slow.',
  HC911: 'A disposable workspace is compared before and after: names, sizes, bytes.',
  HC912:
    'With --probe-compare: the verdict with your own whole environment differs from the one with the environment of hooks; the variables are found by halving, in at most 12 runs.',
}
