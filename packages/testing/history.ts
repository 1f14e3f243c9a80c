/** Records all statuses that objects have had, in order; `scenario/` compares them. @module */
import { canonicalJson } from "../api/objects/apply.ts";
import type { KubeObject } from "../api/objects/objects.ts";
import type { Change } from "./api/changes.ts";

/** A status that an object had. */
export interface PastStatus {
  /** When it was written, by the cluster's clock, in milliseconds since 1970. */
  at: number;
  /** The object's resourceVersion. */
  resourceVersion: string;
  // deno-lint-ignore no-explicit-any -- tests read any field
  status: any;
}

export interface StatusBook {
  record(change: Change, at: number): void;
  /** Returns the distinct statuses of all objects that had this name, oldest first; `[]` if there were none. */
  of(kind: string, name: string, namespace: string): PastStatus[];
}

/** Makes an empty record. */
export function createStatusBook(): StatusBook {
  const pages = new Map<string, { last: string; statuses: PastStatus[] }>();
  return {
    record({ object, isGone }, at) {
      const { namespace = "", name, resourceVersion = "" } = object.metadata;
      if (isGone || object["status"] === undefined) return;
      const key = `${object.kind}/${namespace}/${name}`;
      const page = pages.get(key) ?? { last: "", statuses: [] };
      const text = textOf(object);
      if (page.last === text) return;
      pages.set(key, { last: text, statuses: [...page.statuses, { at, resourceVersion, status: object["status"] }] });
    },
    of: (kind, name, namespace) => pages.get(`${kind}/${namespace}/${name}`)?.statuses ?? [],
  };
}

function textOf({ metadata, status }: KubeObject): string {
  return `${metadata.uid} ${canonicalJson(status)}`;
}
