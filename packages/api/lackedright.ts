/** Reads from RBAC's message which right an account lacks. @module */

/** A right that an account lacks. */
export interface LackedRight {
  /** The user name, such as `system:serviceaccount:hookbox-system:hookbox-binder`. */
  account: string;
  /** Verb and resource, as for `kubectl auth can-i`: `get sandboxtemplates.extensions.agents.x-k8s.io`. */
  right: string;
}

/** Source: responsewriters.Forbidden of k8s.io/apiserver 1.36. The message has not changed since 1.14. */
const WORDS = /is forbidden: User "([^"]+)" cannot ([a-z]+) resource "([^"]+)" in API group "([^"]*)"/;

/** Reads a refusal; undefined: the refusal is not RBAC's, but for example a quota's or an admission policy's. */
export function lackedRight(message: string): LackedRight | undefined {
  const [, account, verb, resource = "", group] = WORDS.exec(message) ?? [];
  if (account === undefined) return undefined;
  return { account, right: `${verb} ${group ? resource.replace(/(?=\/|$)/, `.${group}`) : resource}` };
}
