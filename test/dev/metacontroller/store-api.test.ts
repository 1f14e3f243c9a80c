/** The store over HTTP, against a server that says what a test wants. @module */
import { KubeConfig } from "@kubernetes/client-node";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { afterEach, expect, test } from "vitest";
import { createApiStore } from "../../../dev/metacontroller/store-api.ts";
import { type Resource, StoreError } from "../../../packages/testing/store/store.ts";
import type { KubeObject } from "../../../packages/api/objects/objects.ts";
import { eventually } from "../../eventually.ts";

const PODS: Resource = { apiVersion: "v1", kind: "Pod", plural: "pods", namespaced: true, hasStatus: true };
const WIDES: Resource = {
  apiVersion: "example.com/v1",
  kind: "Wide",
  plural: "wides",
  namespaced: false,
  hasStatus: true,
};
const aPod = (name: string, resourceVersion: string): KubeObject => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, namespace: "ns", resourceVersion },
});

interface Seen {
  method: string | undefined;
  url: string | undefined;
  authorization: string | undefined;
  body: unknown;
}

const stops: (() => void)[] = [];
afterEach(() => stops.splice(0).forEach((stop) => stop()));

/** A store whose requests `answer` sees; connections are counted. */
async function serve(answer: (request: Seen, response: ServerResponse) => void) {
  const seen: Seen[] = [];
  let connections = 0;
  const server = createServer(async (request: IncomingMessage, response) => {
    let text = "";
    for await (const part of request.setEncoding("utf8")) text += part;
    const { method, url, headers } = request;
    const one = { method, url, authorization: headers.authorization, body: text && JSON.parse(text) };
    seen.push(one);
    answer(one, response);
  });
  server.on("connection", () => connections++);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  stops.push(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  const kubeConfig = new KubeConfig();
  const port = typeof address === "object" && address ? address.port : 0;
  kubeConfig.loadFromClusterAndUser({ name: "c", server: `http://127.0.0.1:${port}`, skipTLSVerify: true }, {
    name: "u",
    token: "secret",
  });
  return { store: createApiStore(kubeConfig, { retryMs: 1 }), seen, connections: () => connections };
}

const json = (response: ServerResponse, body: unknown, status = 200) =>
  void response.writeHead(status).end(JSON.stringify(body));

test("requests: paths, bodies, credentials", async () => {
  const { store, seen } = await serve((_, response) => json(response, aPod("p", "1")));
  const wide: KubeObject = { apiVersion: "example.com/v1", kind: "Wide", metadata: { name: "a b" } };
  await store.get(PODS, "ns", "p");
  await store.create(PODS, aPod("p", "1"));
  await store.update(PODS, aPod("p", "1"));
  await store.updateStatus(WIDES, wide);
  await store.delete(PODS, "ns", "p", { uid: "u", propagation: "Background" });
  await store.delete(WIDES, undefined, "w");
  expect(seen.map(({ method, url }) => `${method} ${url}`)).toStrictEqual([
    "GET /api/v1/namespaces/ns/pods/p",
    "POST /api/v1/namespaces/ns/pods",
    "PUT /api/v1/namespaces/ns/pods/p",
    "PUT /apis/example.com/v1/wides/a%20b/status",
    "DELETE /api/v1/namespaces/ns/pods/p",
    "DELETE /apis/example.com/v1/wides/w",
  ]);
  expect(seen[1]?.body).toStrictEqual(aPod("p", "1"));
  expect(seen[4]?.body).toStrictEqual({
    apiVersion: "v1",
    kind: "DeleteOptions",
    preconditions: { uid: "u" },
    propagationPolicy: "Background",
  });
  expect(seen[5]?.body).toStrictEqual({ apiVersion: "v1", kind: "DeleteOptions", preconditions: {} });
  expect(new Set(seen.map(({ authorization }) => authorization))).toStrictEqual(new Set(["Bearer secret"]));
});

test("answers come as they are: times stay text, fields stay", async () => {
  const odd = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p", creationTimestamp: "2026-01-01T00:00:00Z" },
    unknown: { "a-b": [null] },
  };
  const { store } = await serve((_, response) => json(response, odd));
  expect(await store.get(PODS, "ns", "p")).toStrictEqual(odd);
});

test("one connection serves request after request", async () => {
  const { store, connections } = await serve((_, response) => json(response, aPod("p", "1")));
  for (let i = 0; i < 20; i++) await store.get(PODS, "ns", "p");
  expect(connections()).toBe(1);
});

test.for<{ status: number; body: string; want: [number, string, string] }>([
  {
    status: 409,
    body: '{"kind":"Status","reason":"AlreadyExists","message":"there"}',
    want: [409, "AlreadyExists", "there"],
  },
  { status: 404, body: '{"kind":"Status","reason":"NotFound","message":"gone"}', want: [404, "NotFound", "gone"] },
  { status: 403, body: "Forbidden", want: [403, "Unknown", "Forbidden"] },
  { status: 500, body: "", want: [500, "Unknown", "status 500"] },
])("status $status is a StoreError", async ({ status, body, want }) => {
  const { store } = await serve((_, response) => void response.writeHead(status).end(body));
  const error = await store.get(PODS, "ns", "p").catch((error) => error);
  expect(error).toBeInstanceOf(StoreError);
  expect([error.status, error.reason, error.message]).toStrictEqual(want);
});

test("list reads all pages and fills in apiVersion and kind", async () => {
  const { store, seen } = await serve(({ url }, response) => {
    const last = url?.includes("continue=more%3D");
    json(response, {
      metadata: { resourceVersion: "9", ...(!last && { continue: "more=" }) },
      items: [{ metadata: { name: last ? "b" : "a" } }],
    });
  });
  expect(await store.list(PODS, "ns")).toStrictEqual([
    { apiVersion: "v1", kind: "Pod", metadata: { name: "a" } },
    { apiVersion: "v1", kind: "Pod", metadata: { name: "b" } },
  ]);
  expect(seen.map(({ url }) => url)).toStrictEqual([
    "/api/v1/namespaces/ns/pods?limit=500",
    "/api/v1/namespaces/ns/pods?limit=500&continue=more%3D",
  ]);
});

test("discovery: by plural and by kind, asked once, and again when something is missing", async () => {
  const resources = [{ name: "pods", kind: "Pod", namespaced: true }, {
    name: "pods/status",
    kind: "Pod",
    namespaced: true,
  }, { name: "nodes", kind: "Node", namespaced: false }];
  const { store, seen } = await serve(({ url }, response) =>
    url === "/api/v1" ? json(response, { resources }) : json(response, { reason: "NotFound" }, 404)
  );
  expect(await store.resource("v1", "pods")).toStrictEqual(PODS);
  expect(await store.kind("v1", "Pod")).toStrictEqual(PODS);
  expect(await store.kind("v1", "Node")).toMatchObject({ namespaced: false, hasStatus: false });
  expect(seen).toHaveLength(1);
  await expect(store.resource("v1", "pods/status")).rejects.toMatchObject({ status: 404 });
  await expect(store.kind("example.com/v1", "Wide")).rejects.toMatchObject({ status: 404 });
  expect(seen.at(-1)?.url).toBe("/apis/example.com/v1");
});

/** Serves lists and watches from a script; each watch gets the next list of events, then ends as told. */
async function watchWorld(lists: string[][], watches: { events: unknown[]; end: "close" | "break" | "stay" }[]) {
  let listed = 0;
  let watched = 0;
  const lines: string[] = [];
  const { promise: done, resolve } = Promise.withResolvers<void>();
  const world = await serve(({ url }, response) => {
    if (!url?.includes("watch=true")) {
      const names = lists[listed++] ?? [];
      return json(response, {
        metadata: { resourceVersion: `${listed}00` },
        items: names.map((name) => ({ metadata: { name, resourceVersion: "1" } })),
      });
    }
    const { events, end } = watches[watched++] ?? { events: [], end: "stay" };
    response.writeHead(200);
    for (const event of events) response.write(`${JSON.stringify(event)}\n`);
    if (end === "close") response.end();
    else if (end === "break") setTimeout(() => response.destroy(), 5);
    if (watched === watches.length) resolve();
  });
  const end = world.store.watch(PODS, {
    replace: (objects) => void lines.push(`replace ${objects.map(({ metadata }) => metadata.name)}`),
    changed: ({ metadata }) => void lines.push(`changed ${metadata.name}`),
    deleted: ({ metadata }) => void lines.push(`deleted ${metadata.name}`),
  });
  stops.unshift(end);
  await done;
  const from = () => world.seen.flatMap(({ url }) => /watch=true.*resourceVersion=(\d+)/.exec(url ?? "")?.[1] ?? []);
  return { ...world, lines, from, end };
}

const event = (type: string, name: string, resourceVersion: string) => ({ type, object: aPod(name, resourceVersion) });

test("watch: the list, then changes; taken up where it was when a connection ends or breaks", async () => {
  const world = await watchWorld([["a"]], [
    { events: [event("ADDED", "b", "101"), event("MODIFIED", "a", "102"), event("DELETED", "b", "103")], end: "close" },
    { events: [event("BOOKMARK", "", "150")], end: "break" },
    { events: [event("ADDED", "c", "151")], end: "stay" },
  ]);
  await eventually(() => world.lines).toStrictEqual(["replace a", "changed b", "changed a", "deleted b", "changed c"]);
  expect(world.from()).toStrictEqual(["100", "103", "150"]);
});

test("watch: a gap (410) is closed by a new list", async () => {
  const gone = { type: "ERROR", object: { kind: "Status", code: 410, reason: "Expired", message: "too old" } };
  const world = await watchWorld([["a", "b"], ["a"]], [{ events: [gone], end: "close" }, {
    events: [event("ADDED", "c", "201")],
    end: "stay",
  }]);
  await eventually(() => world.lines).toStrictEqual(["replace a,b", "replace a", "changed c"]);
  expect(world.from()).toStrictEqual(["100", "200"]);
});

test("watch: says nothing more once it is ended", async () => {
  const world = await watchWorld([["a"]], [{ events: [], end: "stay" }]);
  world.end();
  await eventually(() => world.lines).toStrictEqual(["replace a"]);
  const requests = world.seen.length;
  await world.store.get(PODS, "ns", "p").catch(() => {});
  expect(world.seen.length).toBe(requests + 1);
});
