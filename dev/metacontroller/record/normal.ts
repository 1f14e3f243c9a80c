/** Makes two recordings of one run alike where they differ by chance only: UIDs, ports and names of namespaces. Pure. @module */
import { isObject, type Json } from "../../../lib/json.ts";
import type { Transcript } from "./transcript.ts";

const UID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const HOOKS = /http:\/\/127\.0\.0\.1:\d+\/\d+\//g;

/**
 * Renames what is random. No engine reads anything out of these names, and they are renamed wherever they stand, so that
 * what belonged together still does.
 *
 * @param fields whether `managedFields` stay: both engines pass them on as they are, and they take most of the room
 */
export function normalized(transcript: Transcript, namespace: string, fields: boolean): Transcript {
  const uids = new Map<string, string>();
  const renamed = (uid: string) => {
    const known = uids.get(uid) ?? `00000000-0000-4000-8000-${String(uids.size + 1).padStart(12, "0")}`;
    uids.set(uid, known);
    return known;
  };
  const text = JSON.stringify(fields ? transcript : withoutManagedFields(transcript))
    .replaceAll(namespace, "run").replace(HOOKS, "http://hooks/").replace(UID, renamed);
  return JSON.parse(text, (key, value) => key === "hook" ? String(value).replace(/^\/\d+/, "") : value);
}

function withoutManagedFields(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutManagedFields);
  if (!isObject(value)) return value;
  const { managedFields: _, ...rest } = value as Json;
  return Object.fromEntries(Object.entries(rest).map(([key, field]) => [key, withoutManagedFields(field)]));
}
