/** Creates the transcript of a run from its recording. @module */
import { sameJson } from "../../../packages/api/objects/apply.ts";
import { isObject, type Json } from "../../../packages/api/objects/json.ts";
import type { KubeObject } from "../../../packages/api/objects/objects.ts";
import { kindKey } from "../../../packages/testing/metacontroller/children.ts";
import type { ScenarioHistory } from "../../../packages/testing/mod.ts";
import type { Resource } from "../../../packages/testing/store/store.ts";
import {
  cachedAt,
  concernOf,
  type Cut,
  cutSyncs,
  lastShown,
  type NumberedRequest,
  type Shown,
  shownBy,
} from "./syncs.ts";
import type { Recorded } from "./world.ts";
import type { Exchange, HookCall, Sighting } from "./traffic.ts";
import type { Course, Moment, Request, Sync, Transcript } from "./transcript.ts";

/** One run: its name, and the range of numbers in the recording that belong to it. */
export interface Run {
  /** Name of the file without its extension. */
  name: string;
  from: number;
  to: number;
  namespace: string;
  history?: ScenarioHistory;
}

/** The complete recording of a run. */
interface Recording {
  version: string;
  controllers: ReadonlyMap<string, Recorded>;
  hookCalls: readonly HookCall[];
  /** The resources that the API server serves. */
  resources: readonly Resource[];
}

/**
 * What happened within this time before a controller was deleted may be incomplete: for example, its Event may be
 * missing.
 */
const ENDING_MS = 500;

interface CourseParts {
  controller: KubeObject;
  /** The kinds of the run, as `<Kind>.<apiVersion>`. */
  kinds: ReadonlySet<string>;
  sightings: Sighting[];
  /** The syncs of the run. */
  cuts: Cut[];
  /** All calls of the customize hook. */
  asked: HookCall[];
  failed: ReadonlySet<Cut>;
}

/**
 * Returns the syncs of a run in their order, without those that Metacontroller aborted because their controller was
 * stopped.
 *
 * @throws {Error} if requests belong to no sync, or if a hook received an object that Metacontroller had not received
 */
export function transcriptOf(recording: Recording, run: Run, of: string): Transcript {
  const { version, controllers, hookCalls, resources } = recording;
  const parts = [...controllers].map(([key, { traffic, object, endedAt = Infinity }]) => {
    const calls = hookCalls.filter((call) => call.controller === key);
    const asked = calls.filter(isCustomize);
    const { cuts, left } = cutSyncs(traffic.requests, calls.filter((call) => !isCustomize(call)), concernOf(object));
    if (left.length > 0) {
      throw new Error(`Cannot make a transcript: ${left.length} requests of ${key} belong to no sync`);
    }
    const failed = failedIn(traffic.requests, cuts);
    const isWhole = ({ call, isWhole }: Cut, i: number) =>
      (isWhole || revisionOf(call) === revisionOf(cuts[i + 1]?.call)) && call.at < endedAt - ENDING_MS;
    const whole = cuts.filter((cut, i) => isWhole(cut, i) && isOf(run, cut.call));
    return { traffic, asked, failed, whole, ours: cuts.filter(({ call }) => isOf(run, call)) };
  }).filter(({ ours }) => ours.length > 0);
  const numbered = parts.flatMap(({ traffic, asked, failed, whole }) => {
    const shown = shownBy(traffic.sightings);
    return whole.map((cut) => ({
      number: cut.call.number,
      sync: { ...syncOf(cut, shown, asked, run, resources), ...(failed.has(cut) && { failed: true as const }) },
    }));
  });
  const syncs = numbered.sort((a, b) => a.number - b.number).map(({ sync }) => sync);
  const courses = parts.map(({ traffic, asked, failed, ours }) => {
    const controller = controllerFor(shownBy(traffic.sightings), (ours[0] as Cut).call);
    const kinds = kindsOf(controller, asked, resources);
    return courseOf(run, { controller, kinds, sightings: traffic.sightings, cuts: ours, asked, failed });
  });
  return { header: { metacontroller: version, of, resources: resourcesFor(syncs, resources) }, syncs, courses };
}

/** Returns the resources to which the syncs refer, and those that their controllers name. */
function resourcesFor(syncs: Sync[], resources: readonly Resource[]): Resource[] {
  const used = new Set(syncs.flatMap(({ cached, parent, controller }) => [parent, ...cached, controller].map(kindKey)));
  const named = new Set(syncs.flatMap(({ before, after }) => [...before, ...after].map(({ plural }) => plural)));
  const rules = new Set(
    syncs.flatMap(({ controller, customize }) => pluralsIn([controller["spec"], customize?.answer])),
  );
  return resources.filter((resource) =>
    used.has(kindKey(resource)) || named.has(resource.plural) || rules.has(`${resource.apiVersion}/${resource.plural}`)
  );
}

/** Tells whether a call belongs to a run. During a run, syncs of earlier and later runs may go on. */
function isOf({ from, to, namespace }: Run, call: HookCall): boolean {
  return call.number > from && call.number <= to && parentOf(call).metadata.namespace === namespace;
}

/**
 * Finds the failed syncs. At its end, a failed sync creates or updates an Event, before Metacontroller tries the parent
 * again.
 */
function failedIn(requests: Exchange[], cuts: Cut[]): Set<Cut> {
  const failed = new Set<Cut>();
  for (const { number, path, answer } of requests) {
    if (!/\/events(\/[^/]+)?$/.test(path) || answer?.["reason"] !== "SyncError") continue;
    const { uid } = answer["involvedObject"] as { uid: string };
    const last = cuts.findLast((cut) =>
      !failed.has(cut) && parentOf(cut.call).metadata.uid === uid && (cut.after.at(-1) ?? cut.call).number < number
    );
    if (last) failed.add(last);
  }
  return failed;
}

function parentOf({ body }: HookCall): KubeObject {
  return (body?.["parent"] ?? body?.["object"]) as KubeObject;
}

/** Returns the controller's version. If a controller is stopped or changed, Metacontroller aborts its current sync. */
function revisionOf(call: HookCall | undefined): string | undefined {
  return (call?.body?.["controller"] as KubeObject | undefined)?.metadata.resourceVersion;
}

function syncOf(cut: Cut, shown: Shown, asked: HookCall[], run: Run, resources: readonly Resource[]): Sync {
  const { call } = cut;
  const request = call.body ?? {};
  const shownParent = parentOf(call);
  const requested = new Map(objectsIn(request).map((object) => [object.metadata.uid ?? "", object]));
  for (const [uid, object] of requested) checkShown(shown, cut, uid, object);
  const written = cut.before.some(({ answer }) => answer && sameJson(answer, shownParent));
  const parent = written ? lastShown(shown, cut, shownParent.metadata.uid ?? "") ?? shownParent : shownParent;
  const { namespace } = run;
  const among = (...groups: unknown[]) => {
    const kinds = new Set(groups.flatMap((group) => Object.keys(group ?? {})));
    return ({ metadata, ...object }: KubeObject) =>
      kinds.has(kindKey(object)) && metadata.uid !== parent.metadata.uid && metadata.name !== "kube-root-ca.crt" &&
      (metadata.namespace ?? namespace) === namespace;
  };
  const isChild = among(request["children"], request["attachments"]);
  const isRelated = among(request["related"]);
  const { objects, unsure } = cachedAt(shown, cut, requested, { isChild, isRelated }, parent);
  const controller = controllerFor(shown, call);
  const customize = customizeOf(shownParent, call, asked);
  return {
    controller,
    parent,
    cached: objects,
    ...(unsure.length > 0 && { unsure }),
    ...(customize && { customize }),
    before: cut.before.map((request) => withKind(request, resources)),
    call: {
      hook: call.path,
      request,
      status: call.status,
      answer: call.answer ?? {},
      ...(call.retryAfter !== undefined && { retryAfter: call.retryAfter }),
    },
    after: cut.after.map((request) => withKind(request, resources)),
  };
}

/** Returns the state of the controller for which a call was made, as the API server sent it. */
function controllerFor(shown: Shown, { body }: HookCall): KubeObject {
  const { uid = "", name, resourceVersion } = (body?.["controller"] as KubeObject).metadata;
  const found = shown.get(uid)?.find(({ object }) => object.metadata.resourceVersion === resourceVersion);
  if (!found) throw new Error(`Cannot make a transcript: Metacontroller was not shown ${name}`);
  return found.object;
}

/** Returns all kinds that a controller watches. */
function kindsOf({ spec }: KubeObject, asked: HookCall[], resources: readonly Resource[]): Set<string> {
  const named = new Set(pluralsIn([spec, ...asked.map(({ answer }) => answer)]));
  const watched = resources.filter(({ apiVersion, plural }) => named.has(`${apiVersion}/${plural}`));
  return new Set(watched.map(kindKey));
}

/**
 * Returns the customize hook's answer that applies. Metacontroller caches answers by UID and generation, so that the
 * answer may be older than the sync.
 */
function customizeOf({ metadata }: KubeObject, { number }: HookCall, asked: HookCall[]): Sync["customize"] {
  const last = asked.findLast((call) => {
    const parent = call.body?.["parent"] as KubeObject;
    const { uid, generation } = parent.metadata;
    return call.number < number && uid === metadata.uid && generation === metadata.generation && call.status === 200;
  });
  if (!last) return undefined;
  const { resourceVersion } = (last.body?.["parent"] as KubeObject).metadata;
  const isSame = resourceVersion === metadata.resourceVersion;
  return { ...(isSame && { request: last.body ?? {} }), answer: last.answer ?? {} };
}

function checkShown(shown: Shown, { before, call }: Cut, uid: string, object: KubeObject): void {
  const { resourceVersion } = object.metadata;
  const known = [
    ...(shown.get(uid) ?? []).map((sighting) => sighting.object),
    ...before.flatMap(({ answer }) => answer?.metadata.uid === uid ? [answer] : []),
  ].filter(({ metadata }) => metadata.resourceVersion === resourceVersion);
  if (known.some((candidate) => sameJson(candidate, object))) return;
  throw new Error(
    `Cannot make a transcript: ${call.path} was shown ${object.kind} ${object.metadata.name} otherwise than Metacontroller`,
  );
}

/** Returns the objects of a hook request, without the controller. */
function objectsIn({ controller: _, ...request }: Json): KubeObject[] {
  const found: KubeObject[] = [];
  const search = (value: unknown): void => {
    if (!isObject(value)) return;
    if (isObject(value["metadata"]) && typeof value["kind"] === "string") found.push(value as KubeObject);
    else Object.values(value).forEach(search);
  };
  search(request);
  return found;
}

/** Adds the kind: the API server's answers for built-in kinds do not always contain it. */
function withKind({ number: _, at: __, ...request }: NumberedRequest, resources: readonly Resource[]): Request {
  const { answer, apiVersion, plural } = request;
  if (!answer) return request;
  const kind = resources.find((resource) => resource.apiVersion === apiVersion && resource.plural === plural)?.kind ??
    "";
  return { ...request, answer: { ...answer, apiVersion, kind } };
}

function pluralsIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(pluralsIn);
  if (!isObject(value)) return [];
  const { apiVersion, resource } = value;
  return [
    ...(typeof apiVersion === "string" && typeof resource === "string" ? [`${apiVersion}/${resource}`] : []),
    ...Object.values(value).flatMap(pluralsIn),
  ];
}

function isCustomize({ body }: HookCall): boolean {
  return body !== undefined && Object.keys(body).every((key) => ["controller", "parent"].includes(key));
}

/** Returns the course of a controller in a run, until its spec changed. */
function courseOf(run: Run, { controller, kinds, sightings, cuts, asked, failed }: CourseParts): Course {
  const isOurs = ({ object, number }: Sighting) =>
    number <= run.to && kinds.has(kindKey(object)) && object.metadata.namespace === run.namespace;
  const shown = sightings.filter(isOurs);
  const { resourceVersion } = controller.metadata;
  const end = cuts.find(({ call }) =>
    (call.body?.["controller"] as KubeObject).metadata.resourceVersion !== resourceVersion
  );
  const moments = [
    ...shown.map(({ number, at, object, gone }) => ({ number, moment: { at, shown: object, ...(gone && { gone }) } })),
    ...cuts.map((cut) => ({ number: beginOf(cut).number, moment: momentOf(cut, failed.has(cut)) })),
  ].filter(({ number }) => !end || number < beginOf(end).number).sort((a, b) => a.number - b.number);
  const begin = moments[0]?.moment.at ?? 0;
  const uids = new Set(moments.flatMap(({ moment }) => "called" in moment ? [moment.called] : []));
  return {
    controller,
    moments: moments.map(({ moment }) => ({ ...moment, at: moment.at - begin })),
    customized: asked.flatMap(({ body, status, answer }) => {
      const { uid = "", generation = 0 } = (body?.["parent"] as KubeObject).metadata;
      return status === 200 && answer && uids.has(uid) ? [{ uid, generation, answer }] : [];
    }),
  };
}

/** Returns the beginning of a sync. Its writes before the hook call are shown to it at once, and are not its cause. */
function beginOf({ before, call }: Cut): { number: number; at: number } {
  return before[0] ?? call;
}

function momentOf(cut: Cut, failed: boolean): Moment {
  const { body, status, answer, retryAfter } = cut.call;
  const { uid = "" } = ((body?.["parent"] ?? body?.["object"]) as KubeObject).metadata;
  const moment = { at: beginOf(cut).at, called: uid };
  if (failed) return { ...moment, again: 0 };
  if (status === 429) return { ...moment, again: Number(retryAfter ?? 0) * 1000 };
  const seconds = Number(answer?.["resyncAfterSeconds"] ?? 0);
  return seconds > 0 ? { ...moment, again: seconds * 1000 } : moment;
}
