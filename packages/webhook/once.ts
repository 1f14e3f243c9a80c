/** Computes a value once for each object, because rules need the same value for many fields and children. @module */
import { LAST_APPLIED_ANNOTATION, lastApplied } from "../api/objects/apply.ts";
import type { Json } from "../api/objects/json.ts";

/** Returns a function that computes its value once for each object. Do not change the object or the value. */
export function oncePer<Key extends object, Value>(compute: (key: Key) => Value): (key: Key) => Value {
  const known = new WeakMap<Key, { value: Value }>();
  return (key) => {
    const found = known.get(key) ?? { value: compute(key) };
    known.set(key, found);
    return found.value;
  };
}

interface Annotated {
  metadata: { annotations?: Record<string, string> | undefined };
}

/** Reads the last-applied annotation of an observed child. Undefined: it has none. `broken`: it cannot be read. */
export const appliedTo = oncePer((child: Annotated): Json | "broken" | undefined => {
  try {
    return sharedLastApplied(child);
  } catch {
    return "broken";
  }
});

/**
 * A cache of parsed annotations, by their text. The hook and its guard have different copies of a child, and parsing the
 * annotations of a large pool takes half of the time of a call.
 */
const texts = new Map<string, Json | undefined>();
const MOST_CHARACTERS = 4 * 1024 * 1024;
let characters = 0;

function sharedLastApplied(object: Annotated): Json | undefined {
  const text = object.metadata.annotations?.[LAST_APPLIED_ANNOTATION] ?? "";
  if (texts.has(text)) return texts.get(text);
  const applied = lastApplied(object);
  characters += text.length;
  if (characters > MOST_CHARACTERS) {
    texts.clear();
    characters = text.length;
  }
  texts.set(text, applied);
  return applied;
}
