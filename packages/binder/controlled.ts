/** The Sandboxes that one claim controls. A user can give a claim any number of them, so that none is searched for. @module */
import { findCondition } from "../api/objects/conditions.ts";
import { ASSIGNED_AT_ANNOTATION } from "../api/objects/keys.ts";
import type { Sandbox } from "../api/sandbox.ts";

/** What is kept of a Sandbox that a claim controls. */
export interface Given {
  uid: string;
  name: string;
  /** When the claim got it, RFC 3339; empty: nobody took note. */
  assignedAt: string;
  /** Whether it has a Ready condition. */
  hasReported: boolean;
}

export interface Controlled {
  put(sandbox: Sandbox): void;
  /** Takes it out. @param uid of the Sandbox */
  remove(uid: string): void;
  /** Returns the one of that name; undefined: the claim does not control it. */
  find(name: string | undefined): Given | undefined;
  /** Returns the earliest assigned, and of two at once the first by name; undefined: there is none. */
  earliest(): Given | undefined;
}

/** Makes the set, empty. */
export function createControlled(): Controlled {
  const byName = new Map<string, Given>();
  const names = new Map<string, string>();
  let first: Given | undefined;
  return {
    put({ metadata: { name, uid = "", annotations }, status }) {
      const hasReported = findCondition(status?.conditions, "Ready") !== undefined;
      const given = { uid, name, assignedAt: annotations?.[ASSIGNED_AT_ANNOTATION] ?? "", hasReported };
      names.set(uid, name);
      byName.set(name, given);
      if (!first || first.name === name || isBefore(given, first)) first = given;
    },
    remove(uid) {
      const name = names.get(uid);
      names.delete(uid);
      // Another one may have been made under the name.
      if (name === undefined || byName.get(name)?.uid !== uid) return;
      byName.delete(name);
      if (first?.name !== name) return;
      first = undefined;
      for (const given of byName.values()) if (!first || isBefore(given, first)) first = given;
    },
    find: (name) => name === undefined ? undefined : byName.get(name),
    earliest: () => first,
  };
}

function isBefore(one: Given, other: Given): boolean {
  return one.assignedAt === other.assignedAt ? one.name < other.name : one.assignedAt < other.assignedAt;
}
