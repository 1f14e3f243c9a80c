/** A secret planted where users keep theirs, to be looked for where none may show. @module */
import { isObject, type Json } from "../../packages/api/objects/json.ts";

/** Stands nowhere else. */
export const CANARY = "canary-5f0d7c2e9b";

/** Plants the canary, in place, into every value of an environment and into all annotations. Returns how often. */
export function plant(value: unknown): number {
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + plant(item), 0);
  if (!isObject(value)) return 0;
  let count = 0;
  for (const key of Object.keys(value)) {
    const inner = value[key];
    if (key === "env" && Array.isArray(inner)) count += plantEnv(inner);
    else if (key === "annotations" && isObject(inner)) count += plantAnnotations(inner);
    else count += plant(inner);
  }
  return count;
}

function plantEnv(entries: unknown[]): number {
  const named = entries.filter(isObject).filter((entry) => typeof entry["value"] === "string");
  for (const entry of named) entry["value"] += CANARY;
  entries.push({ name: "SECRET", value: CANARY });
  return named.length + 1;
}

/** At the end of what is there: what is read of it stays nearly in form, and fails to be. */
function plantAnnotations(annotations: Json): number {
  annotations["example.com/secret"] = CANARY;
  return 1;
}

/** Replaces one annotation's value, in place, by one that has the canary in it. */
export function spoil(value: unknown, at: number): void {
  const holders: { holder: Json; key: string }[] = [];
  const walk = (inner: unknown) => {
    if (typeof inner !== "object" || inner === null) return;
    for (const [key, field] of Object.entries(inner)) {
      if (key === "annotations" && isObject(field)) {
        for (const name of Object.keys(field)) holders.push({ holder: field, key: name });
      } else walk(field);
    }
  };
  walk(value);
  const found = holders[at % holders.length];
  if (found) found.holder[found.key] = SPOILT[at % SPOILT.length];
}

const SPOILT = [CANARY, `{"a":"${CANARY}`, `{"spec":"${CANARY}"}`, `2026-11-21T12:00:00Z${CANARY}`, `7${CANARY}`];
