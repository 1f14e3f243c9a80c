/** Names a user for `kubectl create rolebinding`, in advice that people paste into a shell. Pure. @module */

/** Returns the option that names a user or ServiceAccount. Names come from others, so they are quoted for the shell. */
export function subjectOf(username: string): string {
  const [, account] = /^system:serviceaccount:(.+:.+)$/s.exec(username) ?? [];
  return account === undefined ? `--user=${shellWord(username)}` : `--serviceaccount=${shellWord(account)}`;
}

/** Returns a text as one word of a shell. Quotes it only if needed. */
export function shellWord(text: string): string {
  return /^[A-Za-z0-9_.:@+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
