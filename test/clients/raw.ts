/** Plain requests to the API server, for what neither the published client nor kubectl shows. @module */
import { onTestFinished } from "vitest";
import { type Api, type ApiRequest, pathOf } from "../../packages/kube/api.ts";
import { connect } from "../../packages/kube/connection.ts";
import { kubeconfigCredentials } from "../../packages/kube/credentials.ts";
import type { Loose, Namespace } from "../integration/namespace.ts";

/** Requests for the claims and Sandboxes of one namespace, until the test ends. */
export interface Raw {
  /** Sends one request. `name` undefined: for the collection. */
  send(method: ApiRequest["method"], kind: Kind, name?: string, more?: Partial<ApiRequest>): Promise<Loose>;
  /** Reads the events of a watch up to `count`, the end of the watch, or its refusal: then one event of type ERROR. */
  watch(kind: Kind, query: Record<string, string>, count: number): Promise<Loose[]>;
  /** Every version of the objects from now on, in order; the list grows as they come. */
  follow(kind: Kind): Promise<Loose[]>;
}

type Kind = "sandboxclaims" | "sandboxes";

/** Makes the connection, with every right. */
export async function rawRequests(ns: Namespace): Promise<Raw> {
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const api = connect(await kubeconfigCredentials(ns.cluster.kubeconfig), {
    signal: stop.signal,
    userAgent: "hookbox-test",
  });
  const path = (resource: Kind, name?: string) =>
    pathOf({ resource, namespace: ns.name, ...(name === undefined ? {} : { name }) });
  return {
    send: (method, kind, name, more = {}) => api.send({ method, path: path(kind, name), ...more }),
    watch: (kind, query, count) => firstEvents(api, path(kind), query, count),
    follow: (kind) => follow(api, path(kind)),
  };
}

async function firstEvents(api: Api, path: string, query: Record<string, string>, count: number): Promise<Loose[]> {
  const { status, body, events } = await api.watch(path, { timeoutSeconds: "30", ...query });
  if (status !== 200) return [{ type: "ERROR", object: body }];
  const seen: Loose[] = [];
  for await (const event of events) {
    seen.push(event);
    if (seen.length === count) break;
  }
  return seen;
}

async function follow(api: Api, path: string): Promise<Loose[]> {
  const { body } = await api.send({ method: "GET", path }) as Loose;
  const { resourceVersion } = body.metadata;
  const { events } = await api.watch(path, { resourceVersion, timeoutSeconds: "600" });
  const versions: Loose[] = [];
  const read = async () => {
    for await (const { object } of events) versions.push(object);
  };
  // It ends with the test, which is no error.
  read().catch(() => {});
  return versions;
}
