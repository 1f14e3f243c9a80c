/** Words of commands that people paste into a shell. Pure. @module */

/**
 * Returns the option of `kubectl create rolebinding` that names a user or ServiceAccount. Names come from others, so they
 * are quoted for the shell.
 */
export function subjectOf(username: string): string {
  const [, account] = /^system:serviceaccount:(.+:.+)$/s.exec(username) ?? [];
  return account === undefined ? `--user=${shellWord(username)}` : `--serviceaccount=${shellWord(account)}`;
}

/** Returns a text as one word of a shell. Quotes it only if needed. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
