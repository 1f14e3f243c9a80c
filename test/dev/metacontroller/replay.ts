/** Repeats a recorded sync with the fake Metacontroller: whether it asks the same of hooks and API server. @module */
import { setImmediate } from "node:timers/promises";
import { composite } from "../../../packages/testing/metacontroller/composite.ts";
import { startController } from "../../../packages/testing/metacontroller/controller.ts";
import { decorator } from "../../../packages/testing/metacontroller/decorator.ts";
import { definitionOf } from "../../../packages/testing/metacontroller/definition.ts";
import { createFakeClock } from "../../../packages/testing/clock.ts";
import { createInformers } from "../../../packages/testing/metacontroller/informer.ts";
import type { Request, Sync } from "../../../dev/metacontroller/record/transcript.ts";
import { type Resource, type Store, StoreError } from "../../../packages/testing/store/store.ts";
import { canonicalJson, sameJson } from "../../../packages/api/objects/apply.ts";
import type { Json } from "../../../packages/api/objects/json.ts";
import type { KubeObject } from "../../../packages/api/objects/objects.ts";

const COMBINATIONS = 256;

/**
 * Does a sync again; returns how the fake Metacontroller differs, in words: nothing if it does the same.
 *
 * Where a watch event had just arrived as Metacontroller began, its cache may have been older or newer: it is enough if
 * the fake one does the same with one of these caches.
 */
export async function replaySync(sync: Sync, resources: Resource[]): Promise<string[]> {
  let first: string[] | undefined;
  for (const cached of cachesOf(sync)) {
    const differences = await replayWith(sync, cached, resources);
    if (differences.length === 0) return [];
    first ??= differences;
  }
  return first ?? [];
}

function cachesOf({ cached, unsure = [] }: Sync): KubeObject[][] {
  let caches: KubeObject[][] = [cached];
  for (const states of unsure) {
    caches = caches.flatMap((objects) => states.map((state) => state ? [...objects, state] : objects));
    if (caches.length > COMBINATIONS) throw new RangeError("Cannot replay sync: too much of the cache is unsure");
  }
  return caches;
}

async function replayWith(sync: Sync, cached: KubeObject[], resources: Resource[]): Promise<string[]> {
  const differences: string[] = [];
  const script = createScript(sync, resources, differences);
  const clock = createFakeClock();
  const store = storeOver(script, [sync.parent, ...cached], resources, clock);
  const definition = definitionOf(sync.controller);
  let calls = 0;
  let failed = false;
  const fetch = (url: string, init: RequestInit): Response => {
    const path = new URL(url).pathname;
    const request = JSON.parse(String(init.body));
    if (path !== sync.call.hook) return answerCustomize(sync, request, differences);
    // The first failure ends what was recorded: what is tried again is another sync.
    if (calls++ > 0) return new Response("", { status: 500 });
    script.called();
    compare(`request of ${path}`, request, sync.call.request, differences);
    const { status, retryAfter, answer } = sync.call;
    const headers = retryAfter === undefined ? {} : { "retry-after": retryAfter };
    return new Response(status === 200 ? JSON.stringify(answer) : "", { status, headers });
  };
  const controller = await startController(
    {
      ...{ store, fetch, workers: 1, informers: createInformers(store) },
      recorder: { record() {}, busy: () => 0 },
      sleep: (milliseconds) => clock.advance(milliseconds).then(() => {}),
      log: (message) => void (failed ||= message === "sync failed"),
    },
    definition,
    definition.kind === "CompositeController" ? composite : decorator,
  );
  for (let quiet = 0; quiet < 2; quiet = controller.busy() === 0 ? quiet + 1 : 0) await setImmediate();
  await controller.stop();
  if (calls === 0) differences.push(`${sync.call.hook} was not called`);
  if (failed !== (sync.failed ?? false)) differences.push(failed ? "it failed" : "it did not fail");
  return [...differences, ...script.missing()];
}

function answerCustomize({ customize }: Sync, request: Json, differences: string[]): Response {
  if (!customize) differences.push("customize was called");
  if (customize?.request) compare("request of customize", request, customize.request, differences);
  return Response.json(customize?.answer ?? {});
}

type Script = ReturnType<typeof createScript>;

/**
 * What is expected, in order, but that children of one kind may come in any: Metacontroller goes through Go maps of them
 * (deletes, creates and updates in pkg/controller/common/manage_children.go, claims in an index of client-go). Deletes
 * come before all else, kinds in order, and what happens to one child in its own.
 */
function createScript({ before, after, parent }: Sync, resources: Resource[], differences: string[]) {
  const { plural } = resources.find((resource) => resource.kind === parent.kind) ?? {};
  let left = [...before];
  let then = "the hook call";

  /** What may come next: the next request, or any of those about children of its kind. */
  function open(): Request[] {
    const [head] = left;
    if (!head || head.plural === plural) return left.slice(0, 1);
    const end = left.findIndex((one) =>
      one.plural !== head.plural || (one.verb === "delete") !== (head.verb === "delete")
    );
    return end < 0 ? left : left.slice(0, end);
  }

  return {
    called(): void {
      for (const request of left) differences.push(`${titleOf(request)} is missing before the hook call`);
      left = [...after];
      then = "the end";
    },
    missing: () => left.map((request) => `${titleOf(request)} is missing`),
    /** Takes what was asked off the list and returns its recorded form. @throws {StoreError} if something else is next */
    next(asked: Request): Request {
      const [head, ...others] = open();
      const found = [head, ...others].find((one) => one?.name === asked.name && one.namespace === asked.namespace);
      if (!found || titleOf(found) !== titleOf(asked)) {
        differences.push(`${titleOf(asked)} came, not ${head ? titleOf(head) : then}`);
        throw new StoreError(500, "Unexpected", "Cannot answer: this is not recorded");
      }
      left.splice(left.indexOf(found), 1);
      compare(titleOf(asked), asked.body, found.body, differences);
      return found;
    },
  };
}

function storeOver(script: Script, objects: KubeObject[], resources: Resource[], clock: Store["clock"]): Store {
  const find = (matches: (resource: Resource) => boolean) => {
    const found = resources.find(matches);
    return found ? Promise.resolve(found) : Promise.reject(new StoreError(404, "NotFound", "not served"));
  };
  const ask = async (
    verb: Request["verb"],
    { apiVersion, plural, kind }: Resource,
    { namespace, name }: { namespace?: string | undefined; name: string },
    body?: unknown,
  ): Promise<KubeObject> => {
    await Promise.resolve();
    const sent = body === undefined ? {} : { body: JSON.parse(JSON.stringify(body)) };
    const { answer, refusal } = script.next({
      verb,
      apiVersion,
      plural,
      ...(namespace && { namespace }),
      name,
      ...sent,
    });
    if (refusal) throw new StoreError(refusal.status, refusal.reason, refusal.message);
    return answer ?? { apiVersion, kind, metadata: { name } };
  };
  return {
    clock,
    resource: (apiVersion, plural) => find((one) => one.apiVersion === apiVersion && one.plural === plural),
    kind: (apiVersion, kind) => find((one) => one.apiVersion === apiVersion && one.kind === kind),
    get: (resource, namespace, name) => ask("get", resource, { namespace, name }),
    list: () => Promise.reject(new StoreError(500, "Unexpected", "nothing is listed")),
    watch({ apiVersion, kind }, handler) {
      handler.replace(objects.filter((object) => object.apiVersion === apiVersion && object.kind === kind));
      return () => {};
    },
    create: (resource, object) => ask("create", resource, object.metadata, object),
    update: (resource, object) => ask("update", resource, object.metadata, object),
    updateStatus: (resource, object) => ask("updateStatus", resource, object.metadata, object),
    async delete(resource, namespace, name, { propagation, ...preconditions } = {}) {
      const body = { kind: "DeleteOptions", apiVersion: "v1", preconditions, propagationPolicy: propagation };
      await ask("delete", resource, { namespace, name }, body);
    },
  };
}

function titleOf({ verb, apiVersion, plural, namespace = "", name }: Request): string {
  return `${verb} ${apiVersion}/${plural} ${namespace}/${name}`;
}

function compare(what: string, seen: unknown, wanted: unknown, differences: string[], path = ""): void {
  if (sameJson(seen, wanted)) return;
  const both = [seen, wanted].every((value) => typeof value === "object" && value !== null && !Array.isArray(value));
  if (!both) {
    return void differences.push(`${what}: ${path || "it"} is ${canonicalJson(seen)}, not ${canonicalJson(wanted)}`);
  }
  const [one, other] = [seen as Json, wanted as Json];
  for (const key of new Set([...Object.keys(one), ...Object.keys(other)])) {
    compare(what, one[key], other[key], differences, `${path}.${key}`);
  }
}
