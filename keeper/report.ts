/** How duties say what they have done. @module */
import type { ObjectMeta } from "../lib/objects.ts";

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
