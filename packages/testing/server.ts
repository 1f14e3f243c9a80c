/** A fake API server: a store in memory with hookbox's kinds, and the API to it. @module */
import { parse } from "yaml";
import type { CustomResource } from "../api/crd.ts";
import { sandboxCRD } from "../api/sandbox.ts";
import { sandboxClaimCRD } from "../api/sandboxclaim.ts";
import { sandboxTemplateCRD } from "../api/sandboxtemplate.ts";
import { sandboxWarmPoolCRD } from "../api/sandboxwarmpool.ts";
import type { FakeClock } from "./clock.ts";
import { createMemoryStore, type MemoryStore } from "./store/memory.ts";
import type { KubeObject } from "../api/objects/objects.ts";
import { readControllers } from "../manifests/render.ts";
import { type AdmissionOptions, admit } from "./admission.ts";
import { type Change, type Changes, createChanges } from "./api/changes.ts";
import { createMemoryApi, type MemoryApi, type MemoryApiOptions } from "./api/memoryapi.ts";

export interface MemoryServerOptions extends AdmissionOptions {
  clock?: FakeClock;
  /** Delay until the watches of the fake Metacontroller see an object, in milliseconds. */
  watchDelay?: (object: KubeObject) => number;
  /** Namespaces that exist. @default [] */
  namespaces?: readonly string[];
  /** How many past changes a watch can still get. @default 10000 */
  window?: number;
}

export interface MemoryServer {
  store: MemoryStore;
  /** Makes a new connection to the store. */
  connect(options?: MemoryApiOptions): MemoryApi;
  /** Calls `listener` for every change from now on. */
  onChange(listener: (change: Change) => void): void;
}

const DEFAULT_WINDOW = 10_000;
const KINDS: CustomResource[] = [sandboxCRD, sandboxClaimCRD, sandboxTemplateCRD, sandboxWarmPoolCRD];
const installed = [...KINDS.map(definitionOf), ...readControllers().map((text) => parse(text) as KubeObject)];

/** Makes a server on which hookbox's CRDs and controllers are installed. */
export async function createMemoryServer(options: MemoryServerOptions = {}): Promise<MemoryServer> {
  const { clock, watchDelay, namespaces = [], window = DEFAULT_WINDOW } = options;
  const changes: Changes = createChanges(window);
  const store = createMemoryStore({
    ...(clock && { clock }),
    watchDelay,
    admit: (object, old) => admit(object, old, options),
    onChange: changes.record,
  });
  for (const object of installed) await store.put(object);
  for (const name of namespaces) await store.put({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
  return {
    store,
    connect: (options) => createMemoryApi(store, changes, options),
    onChange: (listener) => void changes.subscribe(listener),
  };
}

/** Makes a CRD without its schemas, which are not used here: to parse them as YAML would take seconds. */
function definitionOf({ group, version, kind, plural, status }: CustomResource): KubeObject {
  const versions = [{ name: version, served: true, storage: true, subresources: status ? { status: {} } : {} }];
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: { group, scope: "Namespaced", names: { kind, plural }, versions },
  };
}
