/** Which right an account lacks, read from what RBAC says in its refusal. Pure. @module */

/** A right that an account lacks. */
export interface LackedRight {
  /** Such as `system:serviceaccount:hookbox-system:hookbox-binder`. */
  account: string;
  /** As `kubectl auth can-i` takes it: `get sandboxtemplates.extensions.agents.x-k8s.io`. */
  right: string;
}

/** Source: responsewriters.Forbidden of k8s.io/apiserver 1.36, whose words have not changed since 1.14. */
const WORDS = /is forbidden: User "([^"]+)" cannot ([a-z]+) resource "([^"]+)" in API group "([^"]*)"/;

/** Reads a refusal; undefined: it is another one, such as a quota's or a policy's. */
export function lackedRight(message: string): LackedRight | undefined {
  const [, account, verb, resource = "", group] = WORDS.exec(message) ?? [];
  if (account === undefined) return undefined;
  return { account, right: `${verb} ${group ? resource.replace(/(?=\/|$)/, `.${group}`) : resource}` };
}
