/**
 * Ways by which a command could make git on the host run something of its own, as scripts: what the operator had before, what
 * the command does, and what somebody does on the host afterwards. Without a boundary each of them reaches its canary.
 */

export interface Route {
  readonly name: string
  /** On the host, in the workspace, before: a repository with one commit stands there. */
  readonly prepare?: string
  /** What the command does. */
  readonly inside: string
  /** On the host, in the workspace, afterwards. */
  readonly afterwards: string
  readonly grants?: readonly string[]
  /** The workspace is no repository. */
  readonly plain?: true
  /** Folder below the workspace that is the workspace of the launch. */
  readonly at?: string
  /** What is told; null: the attempt itself fails, and nothing is. */
  readonly told: RegExp | null
}

/** `$EVIL` is a program in the workspace that reaches the canary, `$HOME` the home folder on the host, `$WS` the workspace. */
export const PREAMBLE = String.raw`
evil_repo() { git init -q "$1" && printf '[core]\n\tfsmonitor = %s\n' "$EVIL" >> "$1/.git/config"; }
evil_config() { printf '[core]\n\tfsmonitor = %s\n' "$EVIL" >> "$1"; }
evil_hook() { mkdir -p "$1" && cp "$EVIL" "$1/pre-commit" && cp "$EVIL" "$1/post-commit"; }
`

/** What a user does in a repository every day. */
const DAILY = 'git status; git log -1; git add -A; git commit -qm daily --allow-empty; git diff HEAD~1'
const COMMITS = ['git-commit']

const SUBMODULE = `git init -q ../lib-$$ && git -C ../lib-$$ commit -qm lib --allow-empty &&
git -c protocol.file.allow=always submodule add -q "$(cd ../lib-$$ && pwd)" sub && git commit -qm sub`

export const ROUTES: readonly Route[] = [
  // the git folder and what is above it
  {
    name: 'B29: .git is renamed and built anew',
    inside: 'mv .git old && cp -r old .git; evil_config .git/config; evil_hook .git/hooks',
    afterwards: DAILY,
    told: null,
  },
  {
    name: 'B29: and with commits granted',
    grants: COMMITS,
    inside: 'mv .git old && cp -r old .git; evil_config .git/config; evil_hook .git/hooks',
    afterwards: DAILY,
    told: null,
  },
  {
    name: 'B29: a hook is moved, linked or written into place',
    grants: COMMITS,
    inside:
      'cp "$EVIL" e; mv e .git/hooks/post-commit; ln "$EVIL" .git/hooks/pre-commit; cp "$EVIL" .git/hooks/post-checkout',
    afterwards: `${DAILY}; git checkout -q -b other`,
    told: null,
  },
  {
    name: 'B29: a folder above a nested repository is renamed',
    grants: COMMITS,
    prepare: 'git init -q a/b && git -C a/b commit -qm one --allow-empty',
    inside: 'mv a old && cp -r old a; evil_config a/b/.git/config',
    afterwards: `cd a/b; ${DAILY}`,
    told: null,
  },
  // settings
  {
    name: 'settings of an opened git folder',
    grants: COMMITS,
    inside:
      'git config core.fsmonitor "$EVIL"; evil_config .git/config; evil_config .git/new && mv .git/new .git/config',
    afterwards: DAILY,
    told: null,
  },
  {
    name: 'settings by an include that was absent',
    prepare: 'git config include.path ../extra.inc',
    inside: 'evil_config extra.inc',
    afterwards: DAILY,
    told: /^moved aside: \S+extra\.inc to \S+: git would obey it/m,
  },
  {
    name: 'settings by an include that was there',
    grants: COMMITS,
    prepare: 'git config include.path ../extra.inc && touch extra.inc',
    inside: 'evil_config extra.inc; rm extra.inc; evil_config extra.inc',
    afterwards: DAILY,
    told: null,
  },
  {
    name: 'core.hooksPath in the workspace that was absent',
    prepare: 'git config core.hooksPath .githooks',
    inside: 'evil_hook .githooks',
    afterwards: DAILY,
    told: /^moved aside: \S+\.githooks to /m,
  },
  {
    name: 'B06: core.hooksPath in the workspace that was there',
    grants: COMMITS,
    prepare: 'mkdir .githooks && git config core.hooksPath .githooks',
    inside: 'evil_hook .githooks; mv .githooks old; evil_hook .githooks',
    afterwards: DAILY,
    told: null,
  },
  {
    name: 'settings of a working tree where git reads them',
    grants: COMMITS,
    prepare: 'git config extensions.worktreeConfig true',
    inside: 'evil_config .git/config.worktree',
    afterwards: DAILY,
    told: /^moved aside: \S+config\.worktree to \S+: git would run core\.fsmonitor/m,
  },
  {
    name: 'attributes of an opened git folder for a filter of the user',
    grants: COMMITS,
    prepare: 'rm -rf .git/info; git config --global filter.own.clean "$EVIL"',
    inside: 'mkdir -p .git/info && echo "* filter=own" > .git/info/attributes',
    afterwards: `date > dated; ${DAILY}`,
    told: /^moved aside: \S+info\/attributes to /m,
  },
  {
    name: 'a program of the settings that was absent',
    prepare: 'git config diff.external tools/d.sh',
    inside: 'mkdir tools; cp "$EVIL" tools/d.sh',
    afterwards: 'echo x >> own; git diff',
    told: /^moved aside: \S+tools\/d\.sh to /m,
  },
  {
    name: 'hooks that the settings of a bare repository name',
    prepare: 'git init -q --bare srv.git; mkdir hk; git -C srv.git config core.hooksPath "$WS/hk"',
    inside: 'cp "$EVIL" hk/post-receive; mv hk old; mkdir hk; cp "$EVIL" hk/post-receive',
    afterwards: 'git push -q srv.git main',
    told: null,
  },
  {
    name: 'a hooks path that is a blank in quotes',
    inside: `git init -q x; printf '[core]\\n\\thooksPath = " "\\n' >> x/.git/config; evil_hook 'x/ '`,
    afterwards: `cd x; ${DAILY}`,
    told: /^moved aside: \S+x\/\.git\/config to \S+: git would run core\.hookspath/m,
  },
  {
    name: 'hooks that settings name in a working tree that is new',
    grants: COMMITS,
    prepare: 'git config core.hooksPath .githooks',
    inside: 'git worktree add -q wt; evil_hook wt/.githooks',
    afterwards: `cd wt; ${DAILY}`,
    told: /^moved aside: \S+wt\/\.githooks to /m,
  },
  {
    name: 'a tool that is a path',
    inside: `git init -q -b main x; cd x; git config merge.tool "../../../../$EVIL"; git commit -qm a --allow-empty
git checkout -qb b; echo 1 > f; git add f; git commit -qm 1; git checkout -q main; echo 2 > f; git add f; git commit -qm 2; git merge b`,
    afterwards: 'cd x; git mergetool -y',
    told: /^moved aside: \S+x\/\.git\/config to \S+: git would run merge\.tool/m,
  },
  {
    name: 'aliases that need no exclamation mark',
    inside: 'git init -q x; cd x; git config alias.st "grep -O$EVIL EVIL"; echo EVIL > f; git add f',
    afterwards: 'cd x; git st',
    told: /^moved aside: \S+x\/\.git\/config to \S+: git would run alias\.st/m,
  },
  // pointers
  {
    name: 'commondir of a new working tree, with a line break in it',
    inside: `git init -q a; git -C a commit -qm x --allow-empty; git -C a worktree add -q ../wt; w=a/.git/worktrees n=$(printf '..\\nx')
mkdir "$w/$n"; cp -r a/.git/objects a/.git/refs "$w/$n"; evil_config "$w/$n/config"; printf %s "../$n" > $w/wt/commondir`,
    afterwards: `cd wt; ${DAILY}`,
    told: /^moved aside: \S+worktrees\/wt\/commondir to /m,
  },
  {
    name: 'a pointer with a line break in it',
    grants: COMMITS,
    inside: `n=$(printf 'e\\nx'); evil_repo e; mv e/.git ".git/$n"; mkdir p; echo "gitdir: ../.git/$n" > p/.git`,
    afterwards: `cd p; ${DAILY}`,
    told: /^moved aside: \S+p\/\.git to /m,
  },
  {
    name: 'a pointer that ends in a blank',
    grants: COMMITS,
    inside: `evil_repo e; mv e/.git '.git/e '; mkdir p; echo 'gitdir: ../.git/e ' > p/.git`,
    afterwards: `cd p; ${DAILY}`,
    told: /^moved aside: \S+p\/\.git to /m,
  },
  {
    name: 'a pointer that is no text',
    grants: COMMITS,
    inside: `n=$(printf '\\377'); evil_repo e; mv e/.git ".git/$n"; mkdir p; echo "gitdir: ../.git/$n" > p/.git`,
    afterwards: `cd p; ${DAILY}`,
    told: /^moved aside: \S+p\/\.git to /m,
  },
  {
    name: 'commondir of the git folder',
    grants: COMMITS,
    inside: 'evil_repo elsewhere; echo ../elsewhere/.git > .git/commondir',
    afterwards: DAILY,
    told: /^moved aside: \S+\.git\/commondir to /m,
  },
  {
    name: 'commondir of a new working tree',
    grants: COMMITS,
    inside: 'evil_repo elsewhere; git worktree add -q wt; echo "$WS/elsewhere/.git" > .git/worktrees/wt/commondir',
    afterwards: `cd wt; ${DAILY}`,
    told: /^moved aside: \S+worktrees\/wt\/commondir to /m,
  },
  {
    name: 'commondir and gitdir of a working tree that was there',
    grants: COMMITS,
    prepare: 'git worktree add -q ../wt-$$ && ln -s ../wt-$$ ../wt-link-$$ && echo ../wt-$$ > .git/where',
    inside:
      'evil_repo elsewhere; for w in .git/worktrees/*; do echo "$WS/elsewhere/.git" > $w/commondir; evil_config $w/config.worktree; done',
    afterwards: `cd "$(cat .git/where)"; ${DAILY}`,
    told: /^moved aside: \S+config\.worktree to (?![\s\S]*commondir)/m,
  },
  {
    name: 'the pointer of a linked working tree',
    grants: COMMITS,
    prepare: 'git worktree add -q wt',
    at: 'wt',
    inside:
      'evil_repo elsewhere; rm -f .git; mv .git old; echo "gitdir: elsewhere/.git" > .git; cp -r elsewhere/.git .git',
    afterwards: `cd wt; git status`,
    told: /^moved aside: \S+wt\/elsewhere\/\.git\/config to /m,
  },
  {
    name: 'the common git folder of a linked working tree',
    grants: COMMITS,
    prepare: 'git worktree add -q wt',
    at: 'wt',
    inside:
      'g=$(git rev-parse --git-common-dir); evil_config $g/config; evil_hook $g/hooks; mv $g/hooks $g/h; evil_config $g/worktrees/wt/config.worktree',
    afterwards: DAILY,
    told: /^moved aside: \S+worktrees\/wt\/config\.worktree to (?![\s\S]*hooks)/m,
  },
  {
    name: 'a pointer to a repository in the workspace',
    inside: 'evil_repo e; mkdir p; echo "gitdir: ../e/.git" > p/.git',
    afterwards: `cd p; ${DAILY}`,
    told: /^moved aside: \S+e\/\.git\/config to /m,
  },
  {
    name: 'a pointer to a repository among the objects',
    grants: COMMITS,
    inside: 'evil_repo e; mv e/.git .git/objects/e; mkdir p; echo "gitdir: ../.git/objects/e" > p/.git',
    afterwards: `cd p; ${DAILY}`,
    told: /^moved aside: \S+objects\/e\/config to /m,
  },
  {
    name: 'a pointer to elsewhere on the host',
    prepare: 'evil_repo ../elsewhere-$$ && echo "$(cd ../elsewhere-$$ && pwd)" > where',
    inside: 'mkdir p; echo "gitdir: $(cat where)/.git" > p/.git',
    afterwards: `cd p; ${DAILY}`,
    told: /^moved aside: \S+p\/\.git to /m,
  },
  {
    name: 'a link to a repository elsewhere',
    prepare: 'evil_repo ../elsewhere-$$ && echo "$(cd ../elsewhere-$$ && pwd)" > where',
    inside: 'mkdir p; ln -s "$(cat where)/.git" p/.git',
    afterwards: `cd p; ${DAILY}`,
    told: /^moved aside: \S+p\/\.git to /m,
  },
  // submodules
  {
    name: 'hooks and settings of a submodule',
    grants: COMMITS,
    prepare: SUBMODULE,
    inside:
      'evil_hook .git/modules/sub/hooks; evil_config .git/modules/sub/config; mv .git/modules/sub/hooks .git/modules/sub/old',
    afterwards: `${DAILY}; cd sub; ${DAILY}`,
    told: null,
  },
  {
    name: 'the pointer of a submodule is made a folder, and back',
    grants: COMMITS,
    prepare: SUBMODULE,
    inside:
      'rm -f sub/.git; mv sub old; mkdir -p sub; evil_repo sub; cp -r .git/modules/sub sub/.git; evil_config sub/.git/config',
    afterwards: `${DAILY}; cd sub; ${DAILY}`,
    told: null,
  },
  {
    name: 'a submodule that was not there',
    grants: COMMITS,
    inside:
      'mkdir -p .git/modules; git init -q --separate-git-dir .git/modules/new new; evil_config .git/modules/new/config; evil_hook .git/modules/new/hooks',
    afterwards: `cd new; ${DAILY}`,
    told: /^moved aside: \S+modules\/new\/config to /m,
  },
  {
    name: 'a submodule named like a folder of objects or refs',
    grants: COMMITS,
    inside:
      'mkdir -p .git/modules/refs; git init -q --separate-git-dir .git/modules/refs/objects new; evil_config .git/modules/refs/objects/config',
    afterwards: `cd new; ${DAILY}`,
    told: /^moved aside: \S+modules\/refs\/objects\/config to /m,
  },
  {
    name: 'a submodule that was never fetched',
    prepare: `${SUBMODULE}; rm -rf sub/.git`,
    inside: 'evil_repo sub; git -C sub commit -qm x --allow-empty',
    afterwards: DAILY,
    told: /^moved aside: \S+sub\/\.git\/config to /m,
  },
  {
    name: 'a repository that is added as a submodule',
    grants: COMMITS,
    inside: 'git init -q s && git -C s commit -qm x --allow-empty; git add s; evil_config s/.git/config',
    afterwards: DAILY,
    told: /^moved aside: \S+s\/\.git\/config to /m,
  },
  {
    name: 'a repository in a folder with a protected name that is added as a submodule',
    grants: COMMITS,
    inside:
      'git init -q .vscode/s; git -C .vscode/s commit -qm x --allow-empty; git add .vscode/s; evil_config .vscode/s/.git/config',
    afterwards: DAILY,
    told: /^moved aside: \S+s\/\.git\/config to /m,
  },
  // new repositories
  {
    name: 'git init in a plain folder',
    plain: true,
    inside: 'git init -q; evil_config .git/config; evil_hook .git/hooks',
    afterwards: DAILY,
    told: /^moved aside: \S+ws\/\.git\/config to \S+: git would run core\.fsmonitor[\s\S]*^moved aside: \S+hooks\/post-commit to /m,
  },
  {
    name: 'a nested repository that is ignored',
    prepare: 'echo build/ > .gitignore',
    inside: 'mkdir build; evil_repo build/x',
    afterwards: `cd build/x; ${DAILY}`,
    told: /^moved aside: \S+build\/x\/\.git\/config to /m,
  },
  {
    name: 'a nested repository in a folder that cannot be listed',
    inside: 'evil_repo d/x; chmod 0311 d',
    afterwards: `cd d/x; ${DAILY}`,
    told: /^moved aside: \S+d\/x\/\.git\/config to /m,
  },
  {
    name: 'a nested repository in a folder whose name is no text',
    inside: `d=$(printf '\\377'); mkdir "$d"; evil_repo "$d/x"; evil_repo "$d/y/$d"`,
    afterwards: `d=$(printf '\\377'); cd "$d/x"; ${DAILY}; cd "../y/$d"; ${DAILY}`,
    told: /(?:^moved aside: \S+\/\.git to \S+: nobody can name what git would obey there\n?){2}/m,
  },
  {
    name: 'a nested repository in a folder that cannot be listed and whose name is no text',
    inside: `d=$(printf '\\377'); mkdir "$d"; evil_repo "$d/x"; chmod 0311 "$d"`,
    afterwards: `d=$(printf '\\377'); cd "$d/x"; ${DAILY}`,
    told: /^moved aside: \S+\/\.git to \S+: nobody can name what git would obey there/m,
  },
  {
    name: 'a git folder that cannot be written',
    inside: 'evil_repo x; chmod 0555 x/.git',
    afterwards: `cd x; ${DAILY}`,
    told: /^moved aside: \S+x\/\.git\/config to /m,
  },
  {
    name: 'a repository among the files of a package',
    inside: 'mkdir -p node_modules/p; evil_repo node_modules/p',
    afterwards: `cd node_modules/p; ${DAILY}`,
    told: /^moved aside: \S+node_modules\/p\/\.git\/config to /m,
  },
  {
    name: 'an embedded bare repository',
    inside:
      'git init -q --bare e; mkdir e/w; git -C e config core.bare false; git -C e config core.worktree w; evil_config e/config',
    afterwards: `cd e; ${DAILY}`,
    told: /^moved aside: \S+e\/config to /m,
  },
  {
    name: 'settings behind a mebibyte of nothing',
    inside: 'git init -q x; head -c 1100000 /dev/zero | tr "\\0" "\\n" >> x/.git/config; evil_config x/.git/config',
    afterwards: `cd x; ${DAILY}`,
    told: /^moved aside: \S+x\/\.git\/config to \S+: git would read more than/m,
  },
  {
    name: 'a filter and its attributes',
    inside: 'git init -q x; echo "* filter=y" > x/.gitattributes; git -C x config filter.y.clean "$EVIL"',
    afterwards: `cd x; ${DAILY}`,
    told: /^moved aside: \S+x\/\.git\/config to \S+: git would run filter\.clean/m,
  },
  {
    name: 'an alias that is a program',
    inside: 'git init -q x; git -C x config alias.st "!$EVIL"',
    afterwards: `cd x; git st`,
    told: /^moved aside: \S+x\/\.git\/config to \S+: git would run alias\.st/m,
  },
  {
    name: 'settings that git itself writes over later',
    inside:
      'git init -q x; rm -f x/.git/COMMIT_EDITMSG; ln x/.git/config x/.git/COMMIT_EDITMSG; evil_config x/.git/MERGE_MSG; echo x > x/x; git -C x add x',
    afterwards: `cd x; git commit -q --no-edit --cleanup=verbatim; git commit -q; git status`,
    told: /^moved aside: \S+x\/\.git\/config to \S+: git would obey a file that has other names too/m,
  },
  // what git writes
  {
    name: 'a commit message that is written through a link to settings',
    grants: COMMITS,
    inside: 'ln -sf config .git/COMMIT_EDITMSG; evil_config .git/MERGE_MSG; echo x > x; git add x',
    afterwards: 'git commit -q --no-edit --cleanup=verbatim; git status',
    told: /^moved aside: \S+COMMIT_EDITMSG to \S+: git would go through the link/m,
  },
  {
    name: 'a commit message that is written through a link to a start-up file',
    inside:
      'git init -q x; cd x; ln -s "$HOSTHOME/.profile" .git/COMMIT_EDITMSG; echo "$EVIL" > .git/MERGE_MSG; echo x > x; git add x',
    afterwards: 'cd x; git commit -q --no-edit; sh "$HOME/.profile"',
    told: /^moved aside: \S+COMMIT_EDITMSG to /m,
  },
  {
    name: 'a reflog that is written through a link to a start-up file',
    grants: COMMITS,
    inside:
      'git branch "\\$($(printf %s "$EVIL" | tr / :))"; n="b\\$(\\$EVIL)"; git branch "$n"; rm .git/logs/HEAD; ln -s "$HOSTHOME/.profile" .git/logs/HEAD',
    afterwards: 'git checkout -q "b\\$(\\$EVIL)"; EVIL=$EVIL sh "$HOME/.profile"',
    told: /^moved aside: \S+logs\/HEAD to /m,
  },
  {
    name: 'a working tree elsewhere',
    inside:
      'git init -q x; cd x; echo "$EVIL" > .profile; git add .profile; git commit -qm x; git config core.worktree "$HOSTHOME"',
    afterwards: 'cd x; git reset -q --hard; sh "$HOME/.profile"',
    told: /^moved aside: \S+x\/\.git\/config to \S+: git would write the working tree/m,
  },
  {
    name: 'a rebase that was left in the middle',
    grants: COMMITS,
    inside:
      'git commit -qm two --allow-empty; GIT_SEQUENCE_EDITOR="printf \'break\\nexec %s\\n\' $EVIL >" git rebase -q -i HEAD~1',
    afterwards: 'git rebase --continue',
    told: /^moved aside: \S+git-rebase-todo to \S+: git would run "exec/m,
  },
  {
    name: 'a row of picks that was left in the middle',
    grants: COMMITS,
    inside: `git checkout -qb b; for n in 1 2; do echo $n > f; git add f; git commit -qm $n; done; git checkout -q main; echo 3 > f; git add f
git commit -qm 3; git cherry-pick b~1 b; echo 4 > f; git add f; mkdir git-merge-x; printf '[options]\\n\\tstrategy = x/../evil\\n' > .git/sequencer/opts`,
    afterwards: 'git cherry-pick --continue',
    told: /^moved aside: \S+sequencer\/opts to \S+: git would run the merge strategy/m,
  },
]
