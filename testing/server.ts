/** A store in memory that serves our kinds as the API server does, and the API over it. Runs nothing. @module */
import { parseAllDocuments } from "yaml";
import type { FakeClock } from "../dev/metacontroller/fake-clock.ts";
import { createMemoryStore, type MemoryStore } from "../dev/metacontroller/store-memory.ts";
import type { KubeObject } from "../lib/objects.ts";
import { renderManifests } from "../tools/manifests/render.ts";
import { admit } from "./admission.ts";
import { type Change, type Changes, createChanges } from "./api/changes.ts";
import { createMemoryApi, type MemoryApi, type MemoryApiOptions } from "./api/memoryapi.ts";

export interface MemoryServerOptions {
  clock?: FakeClock;
  /** Milliseconds by which the engine's watches learn late of an object. */
  watchDelay?: (object: KubeObject) => number;
  /** Whether a claim is given the label of its pool as it is created. @default {() => true} */
  isLabelled?: (claim: KubeObject) => boolean;
  /** How many changes watches may go back. @default {10000} */
  window?: number;
}

export interface MemoryServer {
  store: MemoryStore;
  /** Makes an API of its own over the store. */
  connect(options?: MemoryApiOptions): MemoryApi;
  /** Calls `listener` for every change to come. */
  onChange(listener: (change: Change) => void): void;
}

const DEFAULT_WINDOW = 10_000;
const installed = parseAllDocuments(renderManifests(undefined, false)).map((document) =>
  light(document.toJS() as KubeObject)
);

/** Makes a server with our CRDs and controllers in it. */
export async function createMemoryServer(options: MemoryServerOptions = {}): Promise<MemoryServer> {
  const { clock, watchDelay, isLabelled, window = DEFAULT_WINDOW } = options;
  const changes: Changes = createChanges(window);
  const store = createMemoryStore({
    ...(clock && { clock }),
    watchDelay,
    admit: (object, old) => admit(object, old, isLabelled),
    onChange: changes.record,
  });
  for (const object of installed) await store.put(object);
  return {
    store,
    connect: (options) => createMemoryApi(store, changes, options),
    onChange: (listener) => void changes.subscribe(listener),
  };
}

/** A CRD without its schemas, which nobody reads here. */
function light(object: KubeObject): KubeObject {
  if (object.kind !== "CustomResourceDefinition") return object;
  const spec = object["spec"] as { versions: Record<string, unknown>[] };
  return { ...object, spec: { ...spec, versions: spec.versions.map(({ schema: _, ...version }) => version) } };
}
