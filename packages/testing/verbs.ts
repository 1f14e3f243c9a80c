/** The actions of a test on its cluster: apply, patch, delete, read, settle and until. @module */
import { parseAllDocuments } from "yaml";
import type { FakeClock } from "./clock.ts";
import type { DeleteOptions } from "./store/store.ts";
import { type MemoryStore, objectsOf, resourceOf } from "./store/memory.ts";
import { type Answer, type Api, type ApiRequest, isOk, messageOf } from "../kube/api.ts";
import type { KubeObject } from "../api/objects/objects.ts";

/** An object with an untyped spec and status, for assertions. */
// deno-lint-ignore no-explicit-any -- assertions say what is expected of the shape
export type LooseObject = KubeObject & { spec?: any; status?: any };

/**
 * The actions of a test on its cluster. The default namespace is the first of the cluster. Time passes only in `until`.
 */
export interface Verbs {
  /**
   * Creates objects, or merges them into existing ones. A YAML text may contain several documents.
   *
   * @throws {Error} with the API's message if an object is refused; the objects before it are stored
   */
  apply(...what: (object | string)[]): Promise<LooseObject[]>;
  /** Merges a change into an object. @throws {Error} if the change is refused, or there is no such object */
  patch(kind: string, name: string, change: object, namespace?: string): Promise<LooseObject>;
  /** Deletes an object. @throws {Error} if there is no such object */
  delete(kind: string, name: string, options?: DeleteOptions & { namespace?: string }): Promise<void>;
  /** Returns an object; undefined if there is none. */
  get(kind: string, name: string, namespace?: string): LooseObject | undefined;
  /** Lists the objects of a kind, in order of creation; `namespace` undefined: of all namespaces. */
  objects(kind: string, namespace?: string): LooseObject[];
  /** Resolves when nothing can happen until time passes. */
  settle(): Promise<void>;
  /**
   * Lets time pass until `holds` returns true for an object; it gets undefined while there is no object.
   *
   * @param limitMs longest time to pass, by the cluster's clock; a minute by default
   * @throws {Error} with the object's status if `holds` does not return true in time
   */
  until(
    kind: string,
    name: string,
    holds: (object: LooseObject | undefined) => boolean,
    limitMs?: number,
  ): Promise<LooseObject | undefined>;
}

interface VerbsOptions {
  api: Api;
  store: MemoryStore & { clock: FakeClock };
  settle(): Promise<void>;
  namespace: string;
}

/** Default of `until`'s `limitMs`, in milliseconds of the cluster's clock. */
export const UNTIL_MS = 60_000;

export function createVerbs({ api, store, settle, namespace: first }: VerbsOptions): Verbs {
  const get = (kind: string, name: string, namespace = first) =>
    objectsOf(store, kind).find(({ metadata }) =>
      metadata.name === name && (metadata.namespace ?? namespace) === namespace
    ) as LooseObject | undefined;
  const send = async (action: string, request: ApiRequest) => {
    const answer = await api.send(request);
    await settle();
    return bodyOf(action, answer);
  };
  const pathTo = (kind: string, name: string, namespace = first) => pathOf(resourceOf(store, kind), namespace, name);
  return {
    settle,
    get,
    objects: (kind, namespace) => objectsOf(store, kind, namespace) as LooseObject[],
    async apply(...what) {
      const applied: LooseObject[] = [];
      for (const object of what.flatMap(objectsIn)) {
        const { apiVersion, kind, metadata } = object;
        const { name, namespace } = metadata;
        const resource = resourceOf(store, kind, apiVersion);
        const exists = name !== undefined && get(kind, name, namespace) !== undefined;
        const path = pathOf(resource, namespace ?? first, exists ? name : undefined);
        const action = `apply ${kind} ${name ?? metadata["generateName"]}`;
        applied.push(await send(action, { method: exists ? "PATCH" : "POST", path, body: object }));
      }
      return applied;
    },
    patch: (kind, name, change, namespace) =>
      send(`patch ${kind} ${name}`, { method: "PATCH", path: pathTo(kind, name, namespace), body: change }),
    async delete(kind, name, { namespace, propagation, ...preconditions } = {}) {
      const body = { preconditions, ...(propagation && { propagationPolicy: propagation }) };
      await send(`delete ${kind} ${name}`, { method: "DELETE", path: pathTo(kind, name, namespace), body });
    },
    until: createUntil(store.clock, settle, get),
  };
}

function createUntil(clock: FakeClock, settle: Verbs["settle"], get: Verbs["get"]): Verbs["until"] {
  return async (kind, name, holds, limitMs = UNTIL_MS) => {
    const end = clock.now() + limitMs;
    for (;;) {
      await settle();
      const object = get(kind, name);
      if (holds(object)) return object;
      if (!await clock.step(end - clock.now())) throw timeoutError(kind, name, object, limitMs);
    }
  };
}

function timeoutError(kind: string, name: string, object: LooseObject | undefined, limitMs: number): Error {
  const state = object ? `its status is ${JSON.stringify(object.status)}` : "there is none";
  return new Error(`Cannot see ${kind} ${name} as awaited within ${limitMs} ms: ${state}`);
}

function bodyOf(action: string, answer: Answer): LooseObject {
  if (!isOk(answer)) throw new Error(`Cannot ${action}: ${messageOf(answer)}`);
  return answer.body as LooseObject;
}

function pathOf(
  { apiVersion, plural, namespaced }: ReturnType<typeof resourceOf>,
  namespace: string,
  name?: string,
): string {
  const scope = namespaced ? `/namespaces/${namespace}` : "";
  return `${apiVersion.includes("/") ? "/apis" : "/api"}/${apiVersion}${scope}/${plural}${name ? `/${name}` : ""}`;
}

function objectsIn(what: object | string): KubeObject[] {
  if (typeof what !== "string") return [what as KubeObject];
  return parseAllDocuments(what).flatMap((document) => {
    const [error] = document.errors;
    if (error) throw new SyntaxError(`Cannot read YAML: ${error.message}`);
    return (document.toJS() as KubeObject | null) ?? [];
  });
}
