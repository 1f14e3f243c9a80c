/** What a code of a diagnosis stands for, and the two kinds of it. @module */

/** What a code stands for, whatever the object. */
export interface Entry {
  meaning: string;
  /** Used where a rule has no better one. */
  remedy: string;
  /** Waiting alone cannot help; a rule may know better. */
  hopeless: boolean;
}

/** Makes an entry for what somebody has to change. */
export function final(meaning: string, remedy: string): Entry {
  return { meaning, remedy, hopeless: true };
}

/** Makes an entry for what may pass by itself. */
export function transient(meaning: string, remedy: string): Entry {
  return { meaning, remedy, hopeless: false };
}
