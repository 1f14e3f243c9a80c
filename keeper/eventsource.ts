/** Watches objects for what is worth an Event, each occurrence once. Records nothing itself. @module */
import type { ObjectMeta } from "../lib/objects.ts";
import type { Sink } from "../kube/watch.ts";
import { isYoung, type Occurrence } from "../kube/event.ts";
import type { RecordEvent } from "./eventqueue.ts";

/** What an object shows. */
export interface Sight {
  /** The state that the object is in; undefined: nothing to be remembered. */
  mark?: string | undefined;
  /** What has happened if that state is a new one. */
  occurrence?: Occurrence | undefined;
}

/** Reads an object. `before` is the mark that it had; undefined: it had none, or has not been seen. Pure. */
export type EventRule<T> = (object: T, before: string | undefined) => Sight;

/**
 * Makes the sink. What the first list shows is recorded only if it is young: an older Event may have been recorded by
 * another process, and be gone. What comes later has happened under our eyes.
 */
export function eventSource<T extends { metadata: ObjectMeta }>(
  rule: EventRule<T>,
  record: RecordEvent,
): Sink<T> {
  const marks = new Map<string, string>();
  let isListed = false;
  return {
    observe(object) {
      const { uid = "" } = object.metadata;
      const before = marks.get(uid);
      const { mark, occurrence } = rule(object, before);
      if (mark === undefined) marks.delete(uid);
      else marks.set(uid, mark);
      if (!occurrence || mark === before) return;
      if (isListed || isYoung(occurrence, Date.now())) record(occurrence);
    },
    gone: (uid) => marks.delete(uid),
    listed(uids) {
      for (const uid of marks.keys()) if (!uids.has(uid)) marks.delete(uid);
      isListed = true;
    },
  };
}
