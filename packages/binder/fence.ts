/** Whether sandboxes of a template may start: only under its NetworkPolicy, unless the operator allows otherwise. @module */
import { policyFault, policyName } from "../api/templatepolicy.ts";
import type { SandboxTemplate } from "../api/sandboxtemplate.ts";
import type { KubeObject } from "../api/objects/objects.ts";
import type { EventHandler } from "../kube/watch.ts";
import type { Binder } from "./state.ts";

/** NetworkPolicies as `policyToKeep` reads them. */
export interface Policies {
  handler: EventHandler<KubeObject>;
  /** Returns what has the name of a template's policy; undefined: nothing. */
  of(template: SandboxTemplate): KubeObject | undefined;
}

/** Keeps them by namespace and name. @param changed called with both when one has come, changed or gone */
export function createPolicies(changed: (namespace: string, name: string) => void): Policies {
  const byName = new Map<string, KubeObject>();
  const keys = new Map<string, string>();
  const gone = (uid: string) => {
    const key = keys.get(uid) ?? "";
    const policy = byName.get(key);
    keys.delete(uid);
    // Another one of its name may have come before its end was noticed.
    if (policy?.metadata.uid !== uid) return;
    byName.delete(key);
    changed(policy.metadata.namespace ?? "", policy.metadata.name);
  };
  return {
    handler: {
      observe(policy) {
        const { namespace = "", name, uid = "" } = policy.metadata;
        keys.set(uid, `${namespace}/${name}`);
        byName.set(`${namespace}/${name}`, policy);
        changed(namespace, name);
      },
      gone,
      listed(uids) {
        for (const uid of [...keys.keys()]) if (!uids.has(uid)) gone(uid);
      },
    },
    of: ({ metadata: { namespace, name } }) => byName.get(`${namespace}/${policyName(name)}`),
  };
}

/**
 * Tells whether a sandbox of the template may be started, or one that waits be given away.
 *
 * A pool whose template is gone has the members that it has: of them nobody knows whether they ever had a policy.
 */
export function mayStart(
  { index, templatePolicy }: Pick<Binder, "index" | "templatePolicy">,
  template: SandboxTemplate | undefined,
): boolean {
  if (!template || templatePolicy === "optional") return true;
  return policyFault(template, index.policies.of(template)) === undefined;
}
