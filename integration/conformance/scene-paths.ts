/** What stands where in the scene, as data that the supervisor under test may know too. */

/** A descriptor that the supervisor is started with, writable, and that must not get inside. */
export const INHERITED_FD = 200

/** Files of the workspace that decide what runs later, and some that do not. */
export const WORKSPACE_FILES: Readonly<Record<string, string>> = {
  'src/main.txt': 'text\n',
  'package.json': '{ "name": "sample" }\n',
  '.gitignore': 'deep/er/\ntree/\n',
  '.claude/settings.json': '{}\n',
  '.envrc': 'export SAMPLE=1\n',
  '.mcp.json': '{}\n',
  '.vscode/tasks.json': '{}\n',
  '.husky/pre-push': '#!/bin/sh\n',
  'deep/.claude/settings.json': '{}\n',
}

/** The protected paths of the workspace, and the folders above them. */
export const PROTECTED_PATHS = [
  '.git',
  'deep/er/.git',
  'tree/.git',
  '.claude',
  '.envrc',
  '.mcp.json',
  '.vscode',
  '.husky',
  'deep/.claude',
] as const
export const PROTECTED_PARENTS = ['deep', 'deep/er', 'tree'] as const
