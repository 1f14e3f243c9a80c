/** Lists objects of the API in memory, in pages. @module */
import { copyJson } from "../../api/objects/exactjson.ts";
import type { ServedResource } from "../store/resources.ts";
import { keyOf, StoreError } from "../store/store.ts";
import type { MemoryStore } from "../store/memory.ts";
import type { KubeObject } from "../../api/objects/objects.ts";
import type { Answer } from "../../kube/api.ts";
import { type ObjectMatcher, objectMatcher } from "../store/selectors.ts";

/** Returns the matching objects, sorted by namespace and name like the API server's lists. */
export function matching(
  store: MemoryStore,
  { apiVersion, kind }: ServedResource,
  namespace: string | undefined,
  matches: ObjectMatcher,
): KubeObject[] {
  const found = store.objects(apiVersion, kind).filter((object) =>
    (namespace === undefined || object.metadata.namespace === namespace) && matches(object)
  );
  return found.sort((one, other) => compare(keyOf(one.metadata), keyOf(other.metadata)));
}

/**
 * Answers with a list, in pages if the query has `limit` and `continue`. As on an API server, only custom resources
 * have their kind in a list. A page shows the objects that exist when it is requested.
 *
 * @throws {StoreError} 400 for an invalid selector or continue token
 */
export function answerList(
  store: MemoryStore,
  resource: ServedResource,
  namespace: string | undefined,
  query: Record<string, string>,
): Answer {
  const all = matching(store, resource, namespace, objectMatcher(resource.kind, query));
  const after = query["continue"] ? keyIn(query["continue"]) : "";
  const left = all.filter(({ metadata }) => compare(keyOf(metadata), after) > 0);
  const page = left.slice(0, Number(query["limit"] || 0) || undefined);
  const last = page.at(-1);
  const metadata = {
    resourceVersion: store.version(),
    ...(last && page.length < left.length && {
      continue: tokenOf(keyOf(last.metadata)),
      remainingItemCount: left.length - page.length,
    }),
  };
  const { apiVersion, kind } = resource;
  return { status: 200, body: { apiVersion, kind: `${kind}List`, metadata, items: page.map(itemOf(resource)) } };
}

function itemOf({ custom }: ServedResource): (object: KubeObject) => object {
  return (object) => {
    const { apiVersion, kind, ...item } = copyJson(object);
    return custom ? { apiVersion, kind, ...item } : item;
  };
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

function tokenOf(key: string): string {
  return btoa(JSON.stringify({ v: "meta.k8s.io/v1", start: key }));
}

function keyIn(token: string): string {
  try {
    return String(JSON.parse(atob(token)).start);
  } catch {
    throw new StoreError(400, "BadRequest", "continue key is not valid: it is not a token of this server");
  }
}
