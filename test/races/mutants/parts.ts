/** Wraps a hook, a store or an API so that it does one thing otherwise. @module */
import type { Store } from "../../../packages/testing/store/store.ts";
import type { ApiRequest, WatchEvent } from "../../../packages/kube/api.ts";
import type { HookCalls } from "../../../packages/webhook/hook.ts";
import type { KubeObject } from "../../../packages/api/objects/objects.ts";
import type { MemoryApi } from "../../../packages/testing/api/memoryapi.ts";

/** A sync request of either kind of controller. */
export interface Asked {
  parent: KubeObject & { status?: Record<string, unknown> };
  /** Children or attachments of all kinds. */
  children: KubeObject[];
}

/** An answer of either kind of controller. */
export interface Answered {
  children?: KubeObject[];
  attachments?: KubeObject[];
}

/** Has a hook asked otherwise; `change` may write to its copy of the request. */
export function asking(change: (asked: Asked) => void): (calls: HookCalls) => HookCalls {
  return (calls) => ({
    ...calls,
    sync(body, now, budget) {
      const copy = structuredClone(body);
      change(readRequest(copy));
      return calls.sync(copy, now, budget);
    },
  });
}

/** Has a hook answer otherwise, past the guard. */
export function answering(change: (answer: Answered, asked: Asked) => object): (calls: HookCalls) => HookCalls {
  return (calls) => ({
    ...calls,
    sync(body, now, budget) {
      const outcome = calls.sync(body, now, budget);
      return "answer" in outcome ? { ...outcome, answer: change(outcome.answer, readRequest(body)) } : outcome;
    },
  });
}

function readRequest(body: unknown): Asked {
  const { parent, object, children, attachments } = body as Record<string, KubeObject>;
  const groups = Object.values(
    (children ?? attachments ?? {}) as unknown as Record<string, Record<string, KubeObject>>,
  );
  return { parent: (parent ?? object) as Asked["parent"], children: groups.flatMap((group) => Object.values(group)) };
}

/** Lets Metacontroller's writes of one kind land whatever has changed since. */
export function blind(kind: string, verb: "update" | "updateStatus"): (store: Store) => Store {
  return (store) => ({
    ...store,
    [verb]: (resource: Parameters<Store["update"]>[0], object: KubeObject) =>
      store[verb](resource, resource.kind === kind ? withoutVersion(object) : object),
  });
}

function withoutVersion(object: KubeObject): KubeObject {
  const { resourceVersion: _, uid: __, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/** Has requests sent otherwise. */
export function sending(change: (request: ApiRequest) => ApiRequest): (api: MemoryApi) => MemoryApi {
  return (api) => ({ ...api, send: (request) => api.send(change(request)) });
}

/** Has objects seen otherwise, in lists and watches. */
export function seeing(change: (object: KubeObject) => KubeObject): (api: MemoryApi) => MemoryApi {
  return (api) => ({
    ...api,
    async send(request) {
      const { status, body } = await api.send(request);
      const { items } = (body ?? {}) as { items?: KubeObject[] };
      return {
        status,
        body: request.method === "GET" && items ? { ...body as object, items: items.map(change) } : body,
      };
    },
    async watch(path, query, signal) {
      const opened = await api.watch(path, query, signal);
      return { ...opened, events: changed(opened.events, change) };
    },
  });
}

async function* changed(
  events: AsyncIterable<WatchEvent>,
  change: (object: KubeObject) => KubeObject,
): AsyncGenerator<WatchEvent> {
  for await (const { type, object } of events) {
    yield { type, object: type === "ADDED" || type === "MODIFIED" ? change(object as KubeObject) : object };
  }
}
