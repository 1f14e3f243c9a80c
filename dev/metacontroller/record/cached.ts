/**
 * Finds out what the caches of a Metacontroller process contained at the beginning of a sync, from what it had
 * received. @module
 */
import { canonicalJson } from "../../../packages/api/objects/apply.ts";
import { controllerOf, type KubeObject } from "../../../packages/api/objects/objects.ts";
import type { Cut } from "./segment.ts";
import type { Sighting } from "./traffic.ts";

/** Longest time from the arrival of a watch event until it is in the cache, in milliseconds. */
const LAG_MS = 200;

/** The sightings of each object by UID, in their order. */
export type Shown = ReadonlyMap<string, Sighting[]>;

export function shownBy(sightings: Sighting[]): Shown {
  const shown = new Map<string, Sighting[]>();
  for (const sighting of sightings) {
    const uid = sighting.object.metadata.uid ?? "";
    shown.set(uid, [...shown.get(uid) ?? [], sighting]);
  }
  return shown;
}

/** The content of the caches. */
interface Cached {
  objects: KubeObject[];
  /**
   * For each object that had just changed: the states that may have been cached, newest first. null: the object may not
   * have been in the cache.
   */
  unsure: (KubeObject | null)[][];
}

/**
 * Returns the cached objects of some kinds at the time of a hook call.
 *
 * | object | state |
 * |---|---|
 * | in the hook request | the state in the request |
 * | read or written before the call | the last state that had arrived |
 * | any other | the last state that had arrived, or an older one if the next state arrived less than {@link LAG_MS} earlier |
 *
 * In the last case, only states count that the parent does not control: otherwise, the object would have been in the
 * request. If another parent controls a state, only this state counts: except for related objects, its content does not
 * matter to the sync.
 */
export function cachedAt(
  shown: Shown,
  { before, call }: Cut,
  requested: ReadonlyMap<string, KubeObject>,
  { isChild, isRelated }: Record<"isChild" | "isRelated", (object: KubeObject) => boolean>,
  parent: KubeObject,
): Cached {
  const touched = new Set(before.map(({ body, answer }) => (answer ?? body as KubeObject | undefined)?.metadata.uid));
  const began = before[0]?.number ?? call.number;
  const cached: Cached = { objects: [], unsure: [] };
  for (const [uid, sightings] of shown) {
    const known = requested.get(uid);
    const [first] = sightings;
    if (!first || !(isChild(first.object) || isRelated(first.object))) continue;
    const arrived = sightings.filter(({ number }) => number < began);
    const settled = arrived.findLastIndex(({ at }) => call.at - at > LAG_MS);
    const states = arrived.slice(Math.max(settled, 0)).reverse().map(({ object, gone }) => gone ? null : object);
    if (settled < 0) states.push(null);
    const possible = touched.has(uid) ? states.slice(0, 1) : possibleOf(states, parent, isRelated(first.object));
    const [last] = possible;
    if (known) cached.objects.push(known);
    else if (possible.length > 1) cached.unsure.push(possible);
    else if (last) cached.objects.push(last);
  }
  return cached;
}

type State = KubeObject | null;

/** Returns one state for each combination of controller, labels and deletion. */
function possibleOf(states: State[], { metadata: { uid } }: KubeObject, isRelated: boolean): State[] {
  const controller = (state: State) => state ? controllerOf(state.metadata)?.uid : undefined;
  const others = states.filter((state) => controller(state) !== uid);
  const foreign = others.find((state) => controller(state) !== undefined);
  if (foreign && !isRelated) return [foreign];
  const kinds = new Map<string, State>();
  for (const state of others.length > 0 ? others : states) {
    const { labels, deletionTimestamp } = state?.metadata ?? {};
    const kind = canonicalJson([state !== null, labels, deletionTimestamp]);
    if (!kinds.has(kind)) kinds.set(kind, state);
  }
  return [...kinds.values()];
}

/** Returns the last state of an object that had arrived when a sync began; undefined: none had. */
export function lastShown(shown: Shown, { before, call }: Cut, uid: string): KubeObject | undefined {
  const began = before[0]?.number ?? call.number;
  return shown.get(uid)?.findLast(({ number }) => number < began)?.object;
}
