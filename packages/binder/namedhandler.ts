/** Keeps pools, templates and NetworkPolicies by namespace and name, and reports which part of one has changed. Sends nothing. @module */
import type { EventHandler } from "../kube/watch.ts";
import { UNRESOLVED_ANNOTATION } from "../api/objects/keys.ts";
import type { KubeObject, ObjectMeta } from "../api/objects/objects.ts";
import type { SandboxTemplate } from "../api/sandboxtemplate.ts";
import { policyName } from "../api/templatepolicy.ts";

/**
 * What has changed: `counts` are those of a pool's status; `problem` is what the keeper has reported; `other` is whatever
 * else, or nothing.
 */
export type NamedChange = "gone" | "spec" | "counts" | "problem" | "other";

/**
 * Keeps objects by namespace and name. A new object of a name may be observed before the end of the old one.
 *
 * @param keys namespace and name by UID; it is filled, too
 */
export function namedHandler<T extends Named>(
  byName: Map<string, T>,
  toKeep: (object: T) => T,
  changed: (object: T, change: NamedChange) => void,
  keys = new Map<string, string>(),
): EventHandler<T> {
  const gone = (uid: string) => {
    const key = keys.get(uid) ?? "";
    const object = byName.get(key);
    keys.delete(uid);
    if (object?.metadata.uid !== uid) return;
    byName.delete(key);
    changed(object, "gone");
  };
  return {
    observe(observed) {
      const object = toKeep(observed);
      const { namespace, name, uid = "" } = object.metadata;
      const key = `${namespace}/${name}`;
      const before = byName.get(key);
      keys.set(uid, key);
      byName.set(key, object);
      const isNew = before?.metadata.uid !== uid;
      if (isNew || hasNewSpec(before, object)) changed(object, "spec");
      else if (countsOtherwise(before, object)) changed(object, "counts");
      else changed(object, problemIn(before) === problemIn(object) ? "other" : "problem");
    },
    gone,
    listed(uids) {
      for (const uid of [...keys.keys()]) if (!uids.has(uid)) gone(uid);
    },
  };
}

type Counts = { [Count in "sequence" | "observedSequence" | "replicas" | "readyReplicas"]?: number | undefined };
type Named = { metadata: ObjectMeta; status?: Counts | undefined };

function hasNewSpec({ metadata: before }: Named, { metadata: after }: Named): boolean {
  return before.generation !== after.generation || before.deletionTimestamp !== after.deletionTimestamp;
}

function problemIn({ metadata }: Named): string | undefined {
  return metadata.annotations?.[UNRESOLVED_ANNOTATION];
}

/** Of a status, only what a pool counts is of concern. */
function countsOtherwise({ status: before }: Named, { status: after }: Named): boolean {
  return (["sequence", "observedSequence", "replicas", "readyReplicas"] as const).some((key) =>
    before?.[key] !== after?.[key]
  );
}

/** NetworkPolicies as `policyToKeep` reads them. */
export interface Policies {
  handler: EventHandler<KubeObject>;
  /** Returns what has the name of a template's policy; undefined: nothing. */
  of(template: SandboxTemplate): KubeObject | undefined;
}

/** Keeps them. @param changed called with namespace and name of each that has come, changed or gone */
export function createPolicies(changed: (namespace: string, name: string) => void): Policies {
  const byName = new Map<string, KubeObject>();
  const report = ({ metadata: { namespace = "", name } }: KubeObject) => changed(namespace, name);
  return {
    handler: namedHandler(byName, (policy) => policy, report),
    of: ({ metadata: { namespace, name } }) => byName.get(`${namespace}/${policyName(name)}`),
  };
}
