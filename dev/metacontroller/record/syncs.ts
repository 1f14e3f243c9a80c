/**
 * Divides the requests of a Metacontroller process with one worker into syncs, and finds out what the caches of the
 * process contained at the beginning of each, from what it had received. @module
 */
import type { Json } from "../../../packages/api/objects/json.ts";
import { controllerOf, type KubeObject } from "../../../packages/api/objects/objects.ts";
import type { Exchange, HookCall, Sighting } from "./traffic.ts";
import type { Request } from "./transcript.ts";
import { canonicalJson } from "../../../packages/api/objects/apply.ts";

/** A request of a sync, with its number in the recording, and when it arrived. */
export type NumberedRequest = Request & { number: number; at: number };

/** Requests in their order, and the hook call between them. */
export interface Cut {
  before: NumberedRequest[];
  call: HookCall;
  after: NumberedRequest[];
  /** Whether the last request of a complete sync is included. A decorator has no request that it always sends. */
  isWhole: boolean;
}

/** The parents and children of a controller, as in URLs: `<apiVersion>/<plural>`. */
interface Concern {
  composite: boolean;
  parents: string[];
  children: string[];
}

/** The syncs, and the requests at the end that no hook call follows. */
interface Cuts {
  cuts: Cut[];
  left: NumberedRequest[];
}

/**
 * Divides requests and hook calls into syncs.
 *
 * Before the hook call, both types of controllers write a finalizer and claim children. Only these requests begin with
 * a read. The end of what follows the call depends on the type:
 *
 * | controller | a sync after its call |
 * |---|---|
 * | composite | if the answer requires it, a read and a write of the parent for the finalizer; writes of children; a read of the parent, and a write of its status, both repeated after each conflict |
 * | decorator | writes of the parent and then of attachments; the next read begins another sync |
 */
export function cutSyncs(requests: Exchange[], calls: HookCall[], concern: Concern): Cuts {
  const all = [...requests.flatMap((exchange) => requestOf(exchange, concern)), ...calls]
    .sort((a, b) => a.number - b.number);
  const cuts: Cut[] = [];
  let before: NumberedRequest[] = [];
  let open: Open | undefined;
  for (const item of all) {
    if ("controller" in item) {
      const cut: Cut = { before, call: item, after: [], isWhole: !concern.composite };
      cuts.push(cut);
      before = [];
      open = openAfter(cut, concern);
    } else if (before.length === 0 && open?.takes(item)) cuts.at(-1)?.after.push(item);
    else {
      open = undefined;
      before.push(item);
    }
  }
  return { cuts, left: before };
}

interface Open {
  takes(request: NumberedRequest): boolean;
}

function openAfter(cut: Cut, { composite, parents }: Concern): Open | undefined {
  const { call } = cut;
  if (call.status !== 200) return undefined;
  const isParent = ({ apiVersion, plural }: NumberedRequest) => parents.includes(`${apiVersion}/${plural}`);
  if (!composite) return { takes: ({ verb }) => verb !== "get" };
  const { name } = (call.body?.["parent"] as KubeObject).metadata;
  let reads = call.answer?.["finalized"] === true ? 2 : 1;
  let mayWrite = false;
  return {
    takes(request) {
      if (!isParent(request)) return request.verb !== "get" && reads > 0;
      if (request.name !== name) return false;
      if (request.verb === "get") {
        mayWrite = reads > 0;
        cut.isWhole = reads === 1;
        return reads-- > 0;
      }
      if (!mayWrite) return false;
      if (request.refusal?.status === 409) reads++;
      mayWrite = false;
      return true;
    },
  };
}

const VERBS: Record<string, Request["verb"]> = { GET: "get", POST: "create", PUT: "update", DELETE: "delete" };

/** Converts an exchange to a request about a parent or child. Returns none if it is about anything else, or a list. */
function requestOf({ number, at, method, path, body, status, answer }: Exchange, concern: Concern): NumberedRequest[] {
  const match =
    /^\/apis?\/(?<apiVersion>[^/]+(?:\/v[^/]+)?)(?:\/namespaces\/(?<namespace>[^/]+))?\/(?<plural>[^/]+)(?:\/(?<name>[^/]+))?(?:\/(?<sub>status))?$/
      .exec(path);
  const { apiVersion = "", namespace, plural = "", name, sub } = match?.groups ?? {};
  const key = `${apiVersion}/${plural}`;
  const verb = VERBS[method];
  const isParent = concern.parents.includes(key);
  if (!verb || !(isParent || concern.children.includes(key)) || (method === "GET" && name === undefined)) return [];
  const ok = status < 300;
  const isRead = method === "GET" || (isParent && method !== "DELETE");
  const { reason = "", message = "" } = (answer ?? {}) as { reason?: string; message?: string };
  return [{
    ...{
      number,
      at,
      verb: sub ? "updateStatus" : verb,
      apiVersion,
      plural,
      ...(namespace !== undefined && { namespace }),
    },
    name: name ?? (body as unknown as KubeObject).metadata.name,
    ...(body !== undefined && { body }),
    ...(ok && isRead && { answer: answer as unknown as KubeObject }),
    ...(!ok && { refusal: { status, reason, message } }),
  }];
}

/** Returns the parents and children of a controller. */
export function concernOf({ kind, ...controller }: KubeObject): Concern {
  interface Rule {
    apiVersion: string;
    resource: string;
  }
  const spec = controller["spec"] as Record<string, Rule | Rule[] | undefined> & Json;
  const keys = (rules: Rule | Rule[] | undefined) =>
    [rules ?? []].flat().map(({ apiVersion, resource }) => `${apiVersion}/${resource}`);
  const composite = kind === "CompositeController";
  return {
    composite,
    parents: keys(composite ? spec["parentResource"] : spec["resources"]),
    children: keys(composite ? spec["childResources"] : spec["attachments"]),
  };
}

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
