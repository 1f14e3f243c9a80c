/** Defines the catalogue entry of a diagnosis code, and creates the two sorts of entries. @module */

/** What a code means, independently of the object. */
export interface Entry {
  meaning: string;
  /** The remedy that applies if a rule has no better one. */
  remedy: string;
  /** Waiting does not help. A rule may override this. */
  hopeless: boolean;
}

/** Creates an entry for a problem that a person must fix. */
export function final(meaning: string, remedy: string): Entry {
  return { meaning, remedy, hopeless: true };
}

/** Creates an entry for a problem that may pass without help. */
export function transient(meaning: string, remedy: string): Entry {
  return { meaning, remedy, hopeless: false };
}
