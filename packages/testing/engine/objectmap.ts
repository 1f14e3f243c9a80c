/** Groups objects by kind, and makes the maps that hooks get, in both versions. No I/O. @module */
import type { KubeObject } from "../../api/objects/objects.ts";
import { groupOf, keyOf } from "./store.ts";

/** The objects of one kind by `<namespace>/<name>`; empty if a rule names the kind and no object exists. */
export interface Group {
  apiVersion: string;
  kind: string;
  objects: Map<string, KubeObject>;
}

/** Groups by `<Kind>.<version>` or `<Kind>.<group>/<version>`. */
export type Groups = Map<string, Group>;

/** Returns the key of a kind in {@link Groups}. */
export function kindKey({ apiVersion, kind }: { apiVersion: string; kind: string }): string {
  return `${kind}.${apiVersion}`;
}

/** Returns the group of a kind, and adds it if it is new. */
export function groupFor(groups: Groups, { apiVersion, kind }: { apiVersion: string; kind: string }): Group {
  const group = groups.get(kindKey({ apiVersion, kind })) ?? { apiVersion, kind, objects: new Map() };
  groups.set(kindKey(group), group);
  return group;
}

/** Adds objects to their groups; if two have the same name, the last one stays. */
export function addObjects(groups: Groups, objects: Iterable<KubeObject>): Groups {
  for (const object of objects) groupFor(groups, object).objects.set(keyOf(object.metadata), object);
  return groups;
}

/** Lists the groups in the order in which children are processed: by group, version and kind. */
export function sortedGroups(groups: Groups): Group[] {
  const parts = ({ apiVersion, kind }: Group) => [groupOf(apiVersion), apiVersion.split("/").at(-1) ?? "", kind];
  return [...groups.values()].sort((a, b) => compareAll(parts(a), parts(b)));
}

/**
 * Returns the map that a hook gets.
 *
 * `v2` keys are always `<namespace>/<name>`. `v1` keys are names. For a namespaced parent, `v1` omits objects of other
 * namespaces and cluster-scoped ones; for a cluster-scoped parent, the namespace is part of the key.
 */
export function hookMap(groups: Groups, version: "v1" | "v2", parentNamespace: string | undefined): unknown {
  const relative = version === "v1" && parentNamespace !== undefined;
  return Object.fromEntries([...groups].map(([key, { objects }]) => {
    if (!relative) return [key, Object.fromEntries(objects)];
    const own = [...objects.values()].filter(({ metadata }) => metadata.namespace === parentNamespace);
    return [key, Object.fromEntries(own.map((object) => [object.metadata.name, object]))];
  }));
}

function compareAll(a: string[], b: string[]): number {
  const at = a.findIndex((part, i) => part !== b[i]);
  return at < 0 ? 0 : (a[at] ?? "") < (b[at] ?? "") ? -1 : 1;
}
