/** Changes of a JSON value that know its structure: drawn by fast-check, applied to a copy. @module */
import { copyJson, isObject, type Json } from "../../packages/api/objects/json.ts";
import fc from "../properties.ts";
import { FORGED_METADATA, FORGED_VALUES, HOSTILE_KEYS, HOSTILE_VALUES } from "./hostile.ts";

const HOWS = ["drop", "duplicate", "swap", "copy", "hostile", "retype", "rename", "case", "forge", "label"] as const;

/** One change; numbers choose, modulo what there is to choose from. */
export interface Change {
  how: typeof HOWS[number];
  /** Where, among what lies no deeper than `depth`. */
  at: number;
  depth: number;
  /** Another place, or which of the hostile things. */
  other: number;
}

/** Draws one to three changes. */
export const changes: fc.Arbitrary<Change[]> = fc.array(
  fc.record({
    how: fc.constantFrom(...HOWS),
    at: fc.nat(100_000),
    depth: fc.integer({ min: 1, max: 12 }),
    other: fc.nat(100_000),
  }),
  { minLength: 1, maxLength: 3 },
);

/** Somewhere in a value: what is at `holder[key]`. */
interface Place {
  holder: Json;
  key: string;
  depth: number;
}

/** Returns a changed copy. @param donor its parts may be copied */
export function changed(value: unknown, list: readonly Change[], donor: unknown): unknown {
  const root: Json = { root: copyJson(value) };
  for (const change of list) apply(root, change, donor);
  return root["root"];
}

function apply(root: Json, { how, at, depth, other }: Change, donor: unknown): void {
  const places = placesIn(root, depth);
  const place = pick(places, at)!;
  const { holder, key } = place;
  switch (how) {
    case "drop":
      return remove(place);
    case "duplicate":
      if (Array.isArray(holder)) return void holder.push(copyJson(holder[Number(key)]));
      return put(holder, `${key}-2`, copyJson(holder[key]));
    case "swap":
      return swap(place, pick(places, other)!);
    case "copy": {
      const from = pick(placesIn({ donor }, 12), other)!;
      return put(holder, key, copyJson(from.holder[from.key]));
    }
    case "hostile":
      return put(holder, key, copyJson(pick(HOSTILE_VALUES, other)));
    case "retype":
      return put(holder, key, retyped(holder[key], other));
    case "rename":
      return rename(place, pick(HOSTILE_KEYS, other)!);
    case "case":
      return rename(place, key === key.toUpperCase() ? key.toLowerCase() : key[0]!.toUpperCase() + key.slice(1));
    case "forge":
      return forge(root, at, pick(FORGED_METADATA, other)!);
    case "label":
      return label(root, at, other);
  }
}

/** Lists every place, the root's own first. */
function placesIn(root: Json, depth: number): Place[] {
  const places: Place[] = [];
  const walk = (holder: Json, level: number) => {
    for (const key of Object.keys(holder)) {
      places.push({ holder, key, depth: level });
      const value = holder[key];
      if (level < depth && typeof value === "object" && value !== null) walk(value as Json, level + 1);
    }
  };
  walk(root, 0);
  return places;
}

function pick<T>(list: readonly T[], at: number): T | undefined {
  return list[at % list.length];
}

/** As JSON.parse would: `__proto__` is a key like any other. */
function put(holder: Json, key: string, value: unknown): void {
  Object.defineProperty(holder, key, { value, writable: true, enumerable: true, configurable: true });
}

function remove({ holder, key }: Place): void {
  if (Array.isArray(holder)) holder.splice(Number(key), 1);
  else if (key !== "root") delete holder[key];
}

function swap(one: Place, two: Place): void {
  const value = copyJson(one.holder[one.key]);
  put(one.holder, one.key, copyJson(two.holder[two.key]));
  put(two.holder, two.key, value);
}

function rename({ holder, key, depth }: Place, name: string): void {
  if (depth === 0 || Array.isArray(holder)) return;
  const value = holder[key];
  delete holder[key];
  put(holder, name, value);
}

function retyped(value: unknown, other: number): unknown {
  const text = JSON.stringify(value);
  const ways: unknown[] = [text, [value], { value }, Number.parseFloat(text) || 7, value === null ? "" : null];
  if (Array.isArray(value)) ways.push(Object.fromEntries(value.entries()));
  else if (isObject(value)) ways.push(Object.values(value), Object.keys(value));
  return pick(ways, other);
}

function forge(root: Json, at: number, over: Record<string, unknown>): void {
  const found = placesIn(root, 12).filter(({ holder, key }) => key === "metadata" && isObject(holder[key]));
  const place = pick(found, at);
  if (place) put(place.holder, "metadata", { ...place.holder["metadata"] as Json, ...copyJson(over) });
}

/** Forges a label or an annotation that is there. */
function label(root: Json, at: number, other: number): void {
  const found = placesIn(root, 12).filter(({ holder, key }) =>
    (key === "labels" || key === "annotations") && isObject(holder[key])
  );
  const entries = found.flatMap(({ holder, key }) => placesIn(holder[key] as Json, 0));
  const entry = pick(entries, at);
  if (entry) put(entry.holder, entry.key, pick(FORGED_VALUES, other));
}
