/** Kinds of their own, hooks in this process and a store, for trials of the Metacontroller that runs. @module */
import { randomBytes } from "node:crypto";
import { KubeConfig } from "@kubernetes/client-node";
import { setTimeout as sleep } from "node:timers/promises";
import { createApiStore } from "../../dev/metacontroller/store-api.ts";
import { isNotFound, type Resource, type Store } from "../../packages/testing/store/store.ts";
import type { KubeObject } from "../../packages/api/objects/objects.ts";
import { type Call, type Hook, type Json, serveHooks } from "./engine-server.ts";
import { PATIENCE_MS } from "../patience.ts";
import { suite } from "./suite.ts";

export interface EngineWorld {
  store: Store;
  group: string;
  /** apiVersion of the kinds Thing and Part (namespaced, with status). */
  api: string;
  namespace: string;
  /** Sets the hook of a path. */
  hook(path: string, hook: Hook): void;
  calls(path: string): Call[];
  apply(object: Json): Promise<KubeObject>;
  find(apiVersion: string, plural: string, name: string): Promise<KubeObject | undefined>;
  list(apiVersion: string, plural: string): Promise<KubeObject[]>;
  /** Reads, changes and writes an object as somebody else would. */
  edit(
    apiVersion: string,
    plural: string,
    name: string,
    change: (object: KubeObject) => KubeObject,
  ): Promise<KubeObject>;
  drop(apiVersion: string, plural: string, name: string): Promise<void>;
  composite(name: string, spec: Json): Promise<KubeObject>;
  decorator(name: string, spec: Json): Promise<KubeObject>;
  /** A hook entry, version v2 unless told, at a path of this process. */
  at(path: string, version?: string): Json;
  /** A parent rule for the Things of one test, by their label. */
  parents(test: string, rest?: Json): Json;
  /** A child rule for Parts. */
  parts(method?: string): Json;
  /** A desired Part. */
  aPart(name: string, rest?: Json, metadata?: Json): Json;
  /** Creates a Thing of one test: named like it unless told. */
  thing(test: string, rest?: Json, name?: string): Promise<KubeObject>;
  part(name: string): Promise<KubeObject | undefined>;
  /** Changes the spec of a Thing, so that it is synced. */
  poke(name: string): Promise<KubeObject>;
  statusOf(name: string): Promise<Json | undefined>;
  /** The Parts that a call showed. */
  shown(call: Call | undefined): KubeObject[];
  /** Waits until the hook at a path has not been called for a while. */
  quiet(path: string): Promise<void>;
  syncError(parent: KubeObject): Promise<KubeObject | undefined>;
  stop(): Promise<void>;
}

const QUIET_MS = 700;

/** The reference by which a parent controls a child. */
export function reference({ apiVersion, kind, metadata: { name, uid } }: KubeObject): Json {
  return { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true };
}

/** Calls `look` until it returns something. @throws {Error} if that takes too long even for a busy machine */
export async function eventually<T>(
  what: string,
  look: () => Promise<T | undefined | false> | T | undefined | false,
): Promise<T> {
  const late = Date.now() + PATIENCE_MS;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    if (Date.now() > late) throw new Error(`Waited ${PATIENCE_MS / 1000} s in vain for ${what}`);
    await sleep(20);
  }
}

/** Makes the kinds Thing and Part in a group of their own, a namespace and a server for hooks. */
export async function makeEngineWorld(): Promise<EngineWorld> {
  const kubeConfig = new KubeConfig();
  kubeConfig.loadFromFile(suite.kubeconfig);
  const store = createApiStore(kubeConfig);
  const namespace = `engine-${randomBytes(4).toString("hex")}`;
  const group = `${namespace}.example.com`;
  const api = `${group}/v1`;
  const controllers: [string, string][] = [];
  const server = await serveHooks();
  const proxy = suite.hookProxy;
  const hooksURL = proxy ? `${proxy}/${new URL(server.url).port}` : server.url;
  const resource = (apiVersion: string, plural: string) => store.resource(apiVersion, plural);
  const namespaceOf = ({ namespaced }: Resource) => namespaced ? namespace : undefined;

  const world: EngineWorld = {
    store,
    group,
    api,
    namespace,
    hook: (path, hook) => void server.hooks.set(path, hook),
    calls: (path) => server.calls.filter((call) => call.path === path).map(({ body }) => body),
    async apply(object) {
      const { apiVersion, kind, metadata, ...rest } = object as unknown as KubeObject;
      const found = await store.kind(apiVersion, kind);
      const place = found.namespaced ? { namespace } : {};
      return await store.create(found, { apiVersion, kind, metadata: { ...place, ...metadata }, ...rest });
    },
    async find(apiVersion, plural, name) {
      const found = await resource(apiVersion, plural);
      return await store.get(found, namespaceOf(found), name).catch((error) => {
        if (!isNotFound(error)) throw error;
        return undefined;
      });
    },
    list: async (apiVersion, plural) => await store.list(await resource(apiVersion, plural), namespace),
    async edit(apiVersion, plural, name, change) {
      const found = await resource(apiVersion, plural);
      return await eventually(`an edit of ${name}`, async () => {
        const live = await store.get(found, namespaceOf(found), name);
        return await store.update(found, change(structuredClone(live))).catch(() => undefined);
      });
    },
    async drop(apiVersion, plural, name) {
      const found = await resource(apiVersion, plural);
      await store.delete(found, namespaceOf(found), name);
    },
    composite: (name, spec) => controller("CompositeController", name, spec),
    decorator: (name, spec) => controller("DecoratorController", name, spec),
    at: (path, version = "v2") => ({ version, webhook: { url: `${hooksURL}${path}` } }),
    parents: (test, rest = {}) => ({
      apiVersion: api,
      resource: "things",
      labelSelector: { matchLabels: { test } },
      ...rest,
    }),
    parts: (method) => ({ apiVersion: api, resource: "parts", ...(method && { updateStrategy: { method } }) }),
    aPart: (name, rest, metadata) => ({ apiVersion: api, kind: "Part", metadata: { name, ...metadata }, ...rest }),
    thing: (test, rest, name = test) =>
      world.apply({ apiVersion: api, kind: "Thing", metadata: { name, labels: { test } }, ...rest }),
    part: (name) => world.find(api, "parts", name),
    poke: (name) =>
      world.edit(api, "things", name, (object) => ({ ...object, spec: { ...object["spec"] as Json, poke: 1 } })),
    statusOf: async (name) => (await world.find(api, "things", name))?.["status"] as Json | undefined,
    shown: (call) => Object.values(call?.children[`Part.${api}`] ?? {}),
    async quiet(path) {
      for (let before = -1; before !== world.calls(path).length;) {
        before = world.calls(path).length;
        await sleep(QUIET_MS);
      }
    },
    async syncError({ metadata }) {
      const events = await world.list("v1", "events");
      return events.find((event) =>
        event["reason"] === "SyncError" && (event["involvedObject"] as Json)["uid"] === metadata.uid
      );
    },
    async stop() {
      for (const [plural, name] of controllers) await world.drop("metacontroller.k8s.io/v1alpha1", plural, name);
      for (const plural of ["things", "parts"]) {
        await world.drop("apiextensions.k8s.io/v1", "customresourcedefinitions", `${plural}.${group}`);
      }
      await world.drop("v1", "namespaces", namespace);
      await server.stop();
    },
  };

  async function controller(kind: string, name: string, spec: Json): Promise<KubeObject> {
    controllers.push([`${kind.toLowerCase()}s`, `${name}-${namespace}`]);
    return await world.apply({
      apiVersion: "metacontroller.k8s.io/v1alpha1",
      kind,
      metadata: { name: `${name}-${namespace}` },
      spec,
    });
  }

  await world.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  for (const kind of ["Thing", "Part"]) await world.apply(crdOf(group, kind));
  for (const plural of ["things", "parts"]) {
    await eventually(plural, () => resource(api, plural).catch(() => undefined));
  }
  return world;
}

function crdOf(group: string, kind: string): Json {
  const plural = `${kind.toLowerCase()}s`;
  const open = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: "Namespaced",
      names: { kind, plural },
      versions: [{
        name: "v1",
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: { openAPIV3Schema: { type: "object", properties: { spec: open, status: open } } },
      }],
    },
  };
}
