/** What one task of the keeper is, as the work queue sees it, and how it says what it has done. No behaviour. @module */
import type { ObjectMeta } from "../api/objects/objects.ts";

/**
 * One task that the keeper has for the objects of a kind.
 *
 * `memory` holds what it remembers of each object by UID; the queue drops what belongs to objects that are gone. All of
 * it can be lost: a new process begins with none.
 */
export interface Reconciler<T> {
  name: string;
  memory: Map<string, unknown>;
  /**
   * Called when a list begins: forgets which versions were handled. After a restore of etcd, earlier writes may be undone and
   * a version may come twice, so everything that the list shows is judged again. Absent: no version is remembered.
   */
  listing?(): void;
  /**
   * Tells when it wants to act on the object as it is now, in milliseconds since the epoch; undefined: not at all.
   * Asked at every event, so it is cheap and sends nothing.
   */
  dueAt(object: T, now: number): number | undefined;
  /** Acts, and remembers, so that {@link dueAt} moves on. @throws if it has to be tried again, with back-off */
  reconcile(object: T, now: number): Promise<void>;
}

/** What the keeper does to objects. */
export type Action =
  | "deleted"
  | "deletion put off"
  | "adopted"
  | "annotated"
  | "annotation removed"
  | "spec left out of last-applied";

/** Takes note of an action on an object, or for the sake of one: its child was touched. */
export type Report = (action: Action, parent: ObjectMeta, details: Record<string, unknown>) => void;
