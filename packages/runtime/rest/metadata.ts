/** Selects the environment variables that `GET /v1/metadata` may show. @module */

/** Source: Agent Sandbox runtime reference, section 9.2. */
const SECRET_WORDS = /TOKEN|SECRET|PASSWORD|PASSWD|CRED|KEY|AUTH|BEARER|PRIVATE|CERT/i;

/** Returns the variables with the prefix, except those whose names suggest a secret. */
export function filterMetadata(
  { prefix, env }: { prefix: string; env: Record<string, string | undefined> },
): Record<string, string> {
  const shown = Object.entries(env).filter(([name]) => name.startsWith(prefix) && !SECRET_WORDS.test(name));
  return Object.fromEntries(shown.map(([name, value]): [string, string] => [name, value ?? ""]).sort());
}
