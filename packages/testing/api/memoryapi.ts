/**
 * The Kubernetes API over a store in memory, in place of the HTTP connection in `packages/kube/connection.ts`.
 * @module
 */
import { copyJson } from "../../api/objects/json.ts";
import type { ServedResource } from "../store/resources.ts";
import type { MemoryStore } from "../store/memory.ts";
import type { Answer, Api, ApiRequest, WatchEvent } from "../../kube/api.ts";
import { type ChangeLog, openWatch, type Stream, type WatchRequest, type WatchSource } from "./watch.ts";
import { answerDiscovery, errorAnswer, notServed, parsePath, type RequestPath } from "./protocol.ts";
import { answerList, apply, create, matching, patch, remove, removeAll, replace, type Write } from "./requests.ts";
import { objectMatcher } from "../store/selectors.ts";

/** The API, with additional control for a test. */
export interface MemoryApi extends Api {
  /** Ends all open watches, as if the API server closed the connections; with an error, as if the network failed. */
  endWatches(error?: Error): void;
  /** Tells whether the reader of a watch has read all events and waits for more. */
  isAwaited(): boolean;
}

export interface MemoryApiOptions {
  fault?: ApiFault | undefined;
  /** Called whenever a reader begins to wait for an event of a watch. */
  onAwaited?: () => void;
}

/**
 * Decides whether a request fails, before it is processed; undefined: it is processed. An Answer is returned in place
 * of the real one, an Error is thrown as if the server were unreachable. A watch has the method `WATCH`.
 */
export type ApiFault = (request: Omit<ApiRequest, "method"> & { method: string }) => Answer | Error | undefined;

const NO_EVENTS = (async function* () {})();

/** Makes the API. @param changes records all changes in the store */
export function createMemoryApi(store: MemoryStore, changes: ChangeLog, options: MemoryApiOptions = {}): MemoryApi {
  const { fault = () => undefined, onAwaited = () => {} } = options;
  const open = new Set<Stream<WatchEvent>>();
  const source: WatchSource = {
    changes,
    clock: store.clock,
    version: store.version,
    list: ({ resource, namespace, matches }) =>
      matching(store, resource, namespace, matches).map((object) => copyJson(object)),
  };
  return {
    now: () => store.clock.now(),
    async send({ signal, query = {}, body, ...request }) {
      signal?.throwIfAborted();
      const failed = faultOf(fault({ ...request, query, body }));
      const sent = body === undefined ? body : copyJson(body);
      const answered = failed ?? await answer(store, { ...request, query, body: sent });
      signal?.throwIfAborted();
      return answered;
    },
    async watch(path, query, signal) {
      signal?.throwIfAborted();
      const failed = faultOf(fault({ method: "WATCH", path, query }));
      if (failed) return { ...failed, events: NO_EVENTS };
      await Promise.resolve();
      const at = parsePath(path);
      const resource = at && servedAt(store, at);
      if (!at || !resource) return { ...notServed(), events: NO_EVENTS };
      try {
        const request = watchRequestOf(resource, at, query);
        const stream = openWatch(source, request, { open, onAwaited });
        signal?.addEventListener("abort", () => stream.end(signal.reason));
        return { status: 200, body: null, events: stream };
      } catch (error) {
        return { ...errorAnswer(error, { resource, name: at.name }), events: NO_EVENTS };
      }
    },
    endWatches: (error) => [...open].forEach((stream) => stream.end(error)),
    isAwaited: () => [...open].some((stream) => stream.isAwaited()),
  };
}

function watchRequestOf(
  resource: ServedResource,
  { namespace, name }: RequestPath,
  query: Record<string, string>,
): WatchRequest {
  const fields = name ? { ...query, fieldSelector: `metadata.name=${name}` } : query;
  return { resource, namespace, matches: objectMatcher(resource.kind, fields), query };
}

function faultOf(fault: Answer | Error | undefined): Answer | undefined {
  if (fault instanceof Error) throw fault;
  return fault;
}

function servedAt(store: MemoryStore, { apiVersion, plural, subresource }: RequestPath): ServedResource | undefined {
  const found = store.served().find((one) => one.apiVersion === apiVersion && one.plural === plural);
  const isServed = subresource === undefined || (subresource === "status" && found?.hasStatus);
  return isServed ? found : undefined;
}

/** A request, with default values for what it does not set. */
type Answerable = Required<Pick<ApiRequest, "method" | "path" | "query" | "body">> & Pick<ApiRequest, "patch">;

async function answer(store: MemoryStore, request: Answerable): Promise<Answer> {
  const { method, path, query, body } = request;
  const at = parsePath(path);
  const resource = at && servedAt(store, at);
  if (!at || !resource) return (method === "GET" && answerDiscovery(store.served(), path)) || notServed();
  const { namespace, name = "", subresource } = at;
  const write: Write = { resource, namespace, name, part: subresource ? "status" : "all", query, body };
  try {
    switch (`${method} ${name ? "object" : "collection"}`) {
      case "GET object":
        return { status: 200, body: copyJson(await store.get(resource, namespace, name)) };
      case "GET collection":
        return answerList(store, resource, namespace, query);
      case "POST collection":
        return await create(store, write);
      case "PUT object":
        return await replace(store, write);
      case "PATCH object":
        return await (request.patch === "apply" ? apply : patch)(store, write);
      case "DELETE object":
        return await remove(store, write);
      case "DELETE collection":
        return await removeAll(store, write);
      default:
        return { status: 405, body: { message: "the server does not allow this method on the requested resource" } };
    }
  } catch (error) {
    return errorAnswer(error, { resource, name });
  }
}
