/** A memory store, the fake Metacontroller on it, kinds to play with, and hooks as plain functions. @module */
import {
  createMemoryStore,
  type MemoryStore,
  type MemoryStoreOptions,
} from "../../../packages/testing/store/memory.ts";
import {
  type FakeMetacontroller,
  startFakeMetacontroller,
} from "../../../packages/testing/metacontroller/metacontroller.ts";
import type { KubeObject } from "../../../packages/api/objects/objects.ts";

type Json = Record<string, unknown>;

export const API = "example.com/v1";

/** A request as hooks get it; `parent` is the object for decorators, `children` the attachments. */
interface Call {
  path: string;
  body: Json & {
    parent: KubeObject;
    children: Record<string, Record<string, KubeObject>>;
    related: Record<string, Json>;
  };
}

/** What a hook answers: an object is status 200, a Response is itself. */
export type Hook = (body: Call["body"], call: number) => unknown;

/** Syncs the parent once more: a change of its spec. */
export function poked(object: KubeObject): KubeObject {
  return { ...object, spec: { ...object["spec"] as Json, poke: Math.random() } };
}

export interface World {
  store: MemoryStore;
  engine: FakeMetacontroller;
  /** Every hook call so far. */
  calls: Call[];
  /** Every failure that the fake Metacontroller logged. */
  failures: string[];
  /** Puts objects and waits until nothing is left to do. */
  put(...objects: KubeObject[]): Promise<void>;
  find(apiVersion: string, kind: string, name: string): KubeObject | undefined;
  /** Names of all objects of a kind, sorted. */
  names(apiVersion: string, kind: string): string[];
  /** Replaces fields of an object as somebody else would. */
  edit(apiVersion: string, kind: string, name: string, change: (object: KubeObject) => KubeObject): Promise<void>;
  /** Deletes an object and waits. */
  drop(apiVersion: string, kind: string, name: string): Promise<void>;
  /** How many times a hook was called. */
  count(path: string): number;
  /** Writes that reached the store, as `verb Kind name`; emptied by reading. */
  writes(): string[];
}

/** Starts a world; `hooks` are by path, such as `/sync`. */
export async function startWorld(
  hooks: Record<string, Hook>,
  options: MemoryStoreOptions = {},
  objects: KubeObject[] = [],
): Promise<World> {
  const written: string[] = [];
  const store = createMemoryStore({
    ...options,
    fault(request) {
      const { verb, resource, name } = request;
      if (!["get", "list"].includes(verb) && resource.kind !== "Event") {
        written.push(`${verb} ${resource.kind} ${name}`);
      }
      return options.fault?.(request);
    },
  });
  const calls: Call[] = [];
  const failures: string[] = [];
  for (
    const crd of [aCrd("Thing"), aCrd("Part"), aCrd("Plain", { status: false }), aCrd("Wide", { namespaced: false })]
  ) await store.put(crd);
  for (const object of objects) await store.put(object);
  const count = (path: string) => calls.filter((call) => call.path === path).length;
  const engine = startFakeMetacontroller({
    store,
    fetch: async (url, init) => {
      const path = new URL(url).pathname;
      const raw = JSON.parse(String(init.body));
      const body = { ...raw, parent: raw.parent ?? raw.object, children: raw.children ?? raw.attachments };
      calls.push({ path, body });
      const answer = await hooks[path]?.(body, count(path));
      return answer instanceof Response ? answer : Response.json(answer);
    },
    log: (message, { error }) => void (error !== undefined && failures.push(`${message}: ${error}`)),
  });
  await engine.idle();
  const get = (apiVersion: string, kind: string, name: string) => {
    const object = store.objects(apiVersion, kind).find(({ metadata }) => metadata.name === name);
    if (!object) throw new Error(`Cannot find ${kind} ${name}: it does not exist`);
    return object;
  };
  return {
    store,
    engine,
    calls,
    failures,
    count,
    writes: () => written.splice(0),
    async put(...added) {
      for (const object of added) await store.put(object);
      await engine.idle();
    },
    find: (apiVersion, kind, name) => store.objects(apiVersion, kind).find(({ metadata }) => metadata.name === name),
    names: (apiVersion, kind) => store.objects(apiVersion, kind).map(({ metadata }) => metadata.name).sort(),
    async edit(apiVersion, kind, name, change) {
      await store.put(change(structuredClone(get(apiVersion, kind, name))));
      await engine.idle();
    },
    async drop(apiVersion, kind, name) {
      await store.delete(await store.kind(apiVersion, kind), get(apiVersion, kind, name).metadata.namespace, name);
      await engine.idle();
    },
  };
}

/** Reasons of the Events on objects of a kind. */
export function reasons(world: World, kind: string): unknown[] {
  const about = (event: KubeObject) => (event["involvedObject"] as KubeObject).kind === kind;
  return world.store.objects("v1", "Event").filter(about).map((event) => event["reason"]);
}

/** A CRD of group example.com, version v1. */
export function aCrd(kind: string, { namespaced = true, status = true } = {}): KubeObject {
  const plural = `${kind.toLowerCase()}s`;
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.example.com` },
    spec: {
      group: "example.com",
      scope: namespaced ? "Namespaced" : "Cluster",
      names: { kind, plural },
      versions: [{ name: "v1", served: true, ...(status && { subresources: { status: {} } }) }],
    },
  };
}

/** An object of kind Thing in namespace `ns`, or whatever is given. */
export function aThing(name: string, rest: Json = {}, kind = "Thing"): KubeObject {
  const { metadata, ...fields } = rest;
  return { apiVersion: API, kind, metadata: { name, namespace: "ns", ...(metadata as object) }, ...fields };
}

/** A desired Part, as a hook returns it. */
export function aPart(name: string, rest: Json = {}): Json {
  const { metadata, ...fields } = rest;
  return { apiVersion: API, kind: "Part", metadata: { name, ...(metadata as object) }, ...fields };
}

/** A hook entry of a controller. */
export function aHook(path: string, version = "v2", webhook: Json = {}): Json {
  return { version, webhook: { url: `http://hooks${path}`, ...webhook } };
}

/** A CompositeController of Things with Parts: generated selector, InPlace, sync hook at /sync. */
export function aComposite(spec: Json = {}, name = "things"): KubeObject {
  return {
    apiVersion: "metacontroller.k8s.io/v1alpha1",
    kind: "CompositeController",
    metadata: { name },
    spec: {
      generateSelector: true,
      parentResource: { apiVersion: API, resource: "things" },
      childResources: [{ apiVersion: API, resource: "parts", updateStrategy: { method: "InPlace" } }],
      hooks: { sync: aHook("/sync") },
      ...spec,
    },
  };
}

/** A DecoratorController of Things with Parts: InPlace, sync hook at /sync. */
export function aDecorator(spec: Json = {}, name = "deco"): KubeObject {
  return {
    apiVersion: "metacontroller.k8s.io/v1alpha1",
    kind: "DecoratorController",
    metadata: { name },
    spec: {
      resources: [{ apiVersion: API, resource: "things" }],
      attachments: [{ apiVersion: API, resource: "parts", updateStrategy: { method: "InPlace" } }],
      hooks: { sync: aHook("/sync") },
      ...spec,
    },
  };
}
