/** Annotations that wait to be written: a line for each namespace, whose turns go round. Writes none. @module */
import type { Notes } from "./state.ts";

export interface NoteLines {
  /** What waits for a claim; undefined: nothing. */
  get(namespace: string, uid: string): Notes | undefined;
  /** Puts it in place of what waits for that claim. */
  put(notes: Notes): void;
  remove(namespace: string, uid: string): void;
  /** Takes the first of the namespace whose turn it is; undefined: there is none. */
  take(): Notes | undefined;
}

/** Makes the lines, all empty. */
export function createNoteLines(): NoteLines {
  /** By namespace, in order of their turns, and UID of the claim; none is empty. */
  const lines = new Map<string, Map<string, Notes>>();

  function remove(namespace: string, uid: string): void {
    const line = lines.get(namespace);
    line?.delete(uid);
    if (line?.size === 0) lines.delete(namespace);
  }

  return {
    get: (namespace, uid) => lines.get(namespace)?.get(uid),
    put(notes) {
      const { namespace, uid } = notes.entry;
      const line = lines.get(namespace) ?? new Map<string, Notes>();
      lines.set(namespace, line.set(uid, notes));
    },
    remove,
    take() {
      for (const [namespace, line] of lines) {
        const [next] = line.values();
        // The next one's turn comes first.
        lines.delete(namespace);
        lines.set(namespace, line);
        if (next) remove(namespace, next.entry.uid);
        return next;
      }
      return undefined;
    },
  };
}
