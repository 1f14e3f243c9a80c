/** Whom the fake Metacontroller would requeue for recorded events, and whether the real one called its hooks. @module */
import { setImmediate } from "node:timers/promises";
import { composite } from "../../../packages/testing/metacontroller/composite.ts";
import { type ControllerKind, startController } from "../../../packages/testing/metacontroller/controller.ts";
import { decorator } from "../../../packages/testing/metacontroller/decorator.ts";
import { definitionOf } from "../../../packages/testing/metacontroller/definition.ts";
import { createFakeClock } from "../../../packages/testing/clock.ts";
import { createInformers } from "../../../packages/testing/metacontroller/informer.ts";
import { kindKey } from "../../../packages/testing/metacontroller/children.ts";
import type { Course, Moment } from "../../../dev/metacontroller/record/transcript.ts";
import { type Resource, type Store, StoreError, type WatchHandler } from "../../../packages/testing/store/store.ts";
import type { KubeObject } from "../../../packages/api/objects/objects.ts";

/** A parent that something shown has woken: which moment of the course it was. */
interface Wake {
  index: number;
  at: number;
  uid: string;
}

type Call = Extract<Moment, { called: string }> & { index: number };

/**
 * Longest time from an event to the hook call that it leads to: there was one worker for each controller, and the answer to
 * the call before may have been held for a second (`--pool-interval-ms`).
 */
const PROMPT_MS = 2000;
/** The same for a parent's first call: related objects are listed before. */
const FIRST_MS = 5000;
/** What came so shortly before a sync began may have come too late for it, and be the cause of the next. */
const BEGIN_MS = 100;
const TIMER_MS = 30;

/**
 * Lists where a course contradicts the fake Metacontroller's rules for requeueing; nothing if it does not.
 *
 * Every call needs a cause since the call before, for the same parent: an event for which the fake one would have
 * requeued it, or a time that was up. And for each of these there has to be a call within a second, unless it was
 * gone by then or the course is over.
 */
export async function wakeFaults(course: Course, resources: Resource[]): Promise<string[]> {
  const { moments } = course;
  const wakes = await wakesOf(course, resources);
  const calls = moments.flatMap((moment, index) => "called" in moment ? [{ ...moment, index }] : []);
  const end = moments.at(-1)?.at ?? 0;
  const isGone = (uid: string, at: number) =>
    moments.some((moment) => "gone" in moment && moment.gone && moment.shown.metadata.uid === uid && moment.at <= at);
  const causeless = calls.filter((call) => !hasCause(call, calls, wakes));
  const unheard = wakes.filter(({ uid, at, index }) => {
    const ofParent = calls.filter(({ called }) => called === uid);
    const late = at + (ofParent.some((call) => call.index < index) ? PROMPT_MS : FIRST_MS);
    const isCalled = ofParent.some((call) => call.index > index && call.at <= late);
    return !isCalled && late < end && !isGone(uid, late);
  });
  return [
    ...causeless.map(({ called, index }) => `moment ${index}: a call for ${called} without a cause`),
    ...unheard.map(({ uid, index }) => `moment ${index}: ${titleOf(moments[index])} wakes ${uid}, but no call follows`),
  ];
}

/** A thing shown is the cause of one call; where several were shown, those that just came may be that of the next, too. */
function hasCause({ called, at, index }: Call, calls: Call[], wakes: Wake[]): boolean {
  const before = calls.filter((call) => call.called === called && call.index < index);
  let left = wakes.filter(({ uid }) => uid === called);
  for (const call of before) {
    const [first, ...others] = left.filter((wake) => wake.index < call.index);
    const late = others.filter((wake) => first !== undefined && wake.at > call.at - BEGIN_MS);
    left = [...late, ...left.filter((wake) => wake.index > call.index)];
  }
  if (left.some((wake) => wake.index < index)) return true;
  return before.some(({ at: then, again }) => again !== undefined && then + again <= at + TIMER_MS);
}

function titleOf(moment: Moment | undefined): string {
  if (!moment || !("shown" in moment)) return "nothing";
  const { kind, metadata } = moment.shown;
  return `${kind} ${metadata.name} ${moment.gone ? "gone" : metadata.resourceVersion}`;
}

/** Shows a controller of the fake one what the course shows, thing by thing; its syncs only look for related objects. */
async function wakesOf({ controller, moments, customized }: Course, resources: Resource[]): Promise<Wake[]> {
  const woken = new Set<string>();
  const { store, show } = shownStore(resources);
  const definition = definitionOf(controller);
  const informers = createInformers(store);
  const real = definition.kind === "CompositeController" ? composite : decorator;
  const controllerKind: ControllerKind = {
    adoption: real.adoption,
    async sync({ customize }, _parents, parent) {
      woken.add(parent.metadata.uid ?? "");
      await customize.related(parent);
    },
  };
  const fetch = (_url: string, init: RequestInit): Response => {
    const { uid, generation } = (JSON.parse(String(init.body)) as { parent: KubeObject }).parent.metadata;
    const known = customized.findLast((one) => one.uid === uid && one.generation === generation);
    return known ? Response.json(known.answer) : new Response("", { status: 500 });
  };
  const running = await startController(
    {
      ...{ store, informers, fetch, workers: 1 },
      ...{ recorder: { record() {}, busy: () => 0 }, sleep: () => Promise.resolve(), log: () => {} },
    },
    definition,
    controllerKind,
  );
  const wakes: Wake[] = [];
  for (const [index, moment] of moments.entries()) {
    if (!("shown" in moment)) continue;
    show(moment.shown, moment.gone ?? false);
    for (let quiet = 0; quiet < 3; quiet = running.busy() + informers.busy() === 0 ? quiet + 1 : 0) {
      await setImmediate();
    }
    for (const uid of woken) wakes.push({ index, at: moment.at, uid });
    woken.clear();
  }
  await running.stop();
  return wakes;
}

/** A store whose watches see what is shown to them; nothing else can be asked of it. */
function shownStore(resources: Resource[]) {
  const objects = new Map<string, Map<string, KubeObject>>();
  const handlers = new Map<string, Set<WatchHandler>>();
  const placeOf = <V>(places: Map<string, V>, object: { apiVersion: string; kind: string }, fresh: V): V => {
    const place = places.get(kindKey(object)) ?? fresh;
    places.set(kindKey(object), place);
    return place;
  };
  const refused = () => Promise.reject(new StoreError(500, "Unexpected", "Cannot answer: nothing is asked here"));
  const find = (matches: (resource: Resource) => boolean) => {
    const found = resources.find(matches);
    return found
      ? Promise.resolve(found)
      : Promise.reject(new StoreError(404, "NotFound", "Cannot find what is not served"));
  };
  const store: Store = {
    clock: createFakeClock(),
    resource: (apiVersion, plural) => find((one) => one.apiVersion === apiVersion && one.plural === plural),
    kind: (apiVersion, kind) => find((one) => one.apiVersion === apiVersion && one.kind === kind),
    watch(resource, handler) {
      placeOf(handlers, resource, new Set<WatchHandler>()).add(handler);
      handler.replace([...placeOf(objects, resource, new Map<string, KubeObject>()).values()]);
      return () => void handlers.get(kindKey(resource))?.delete(handler);
    },
    ...{ get: refused, list: refused, create: refused, update: refused, updateStatus: refused, delete: refused },
  };
  return {
    store,
    show(object: KubeObject, gone: boolean): void {
      const place = placeOf(objects, object, new Map<string, KubeObject>());
      const uid = object.metadata.uid ?? "";
      if (gone) place.delete(uid);
      else place.set(uid, object);
      for (const handler of handlers.get(kindKey(object)) ?? []) {
        if (gone) handler.deleted(object);
        else handler.changed(object);
      }
    },
  };
}
