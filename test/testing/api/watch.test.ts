/** Watches of the API in memory: what packages/kube/watch.ts and the SDK rely on. @module */
import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import type { WatchEvent } from "../../../packages/kube/api.ts";
import { listAndWatch } from "../../../packages/kube/watch.ts";
import type { KubeObject } from "../../../packages/api/objects/objects.ts";
import type { MemoryApi } from "../../../packages/testing/api/memoryapi.ts";
import { bodyOf, create, sandboxes, serve } from "./requests.ts";

/** Opens a watch and collects what it shows, as `<type> <name>`. */
async function collect(api: MemoryApi, query: Record<string, string>, path = sandboxes()): Promise<string[]> {
  const shown: string[] = [];
  const { status, events } = await api.watch(path, query);
  expect(status).toBe(200);
  void (async () => {
    for await (const { type, object } of events) shown.push(wordsOf({ type, object }));
    shown.push("end");
  })();
  await setImmediate();
  return shown;
}

function wordsOf({ type, object }: WatchEvent): string {
  const { metadata, code } = object as KubeObject & { code?: number };
  return `${type} ${code ?? metadata.name ?? metadata.resourceVersion}`;
}

const remove = (api: MemoryApi, name: string) => api.send({ method: "DELETE", path: sandboxes(name) });
const label = (api: MemoryApi, name: string, labels: object) =>
  api.send({ method: "PATCH", path: sandboxes(name), body: { metadata: { labels } } });

test("a watch without a version shows what is there, then what happens", async () => {
  const { api } = await serve();
  await create(api, "a");
  const shown = await collect(api, {});
  await create(api, "b");
  await label(api, "a", { x: "1" });
  await remove(api, "b");
  await setImmediate();
  expect(shown).toEqual(["ADDED a", "ADDED b", "MODIFIED a", "DELETED b"]);
});

test("a watch goes on from the version of a list, and misses nothing in between", async () => {
  const { api } = await serve();
  await create(api, "a");
  const { metadata } = bodyOf(await api.send({ method: "GET", path: sandboxes() }));
  await create(api, "b");
  await remove(api, "a");
  expect(await collect(api, { resourceVersion: metadata.resourceVersion })).toEqual(["ADDED b", "DELETED a"]);
});

test("what begins to match is ADDED, what ceases to is DELETED, and others are not shown", async () => {
  const { api } = await serve();
  await create(api, "a");
  const shown = await collect(api, { labelSelector: "tier=web" });
  await label(api, "a", { tier: "db" });
  await label(api, "a", { tier: "web" });
  await label(api, "a", { other: "1" });
  await label(api, "a", { tier: null });
  await remove(api, "a");
  await setImmediate();
  expect(shown).toEqual(["ADDED a", "MODIFIED a", "DELETED a"]);
});

test("one object is watched by its name, and one namespace by its path", async () => {
  const { api, server } = await serve();
  const byField = await collect(api, { fieldSelector: "metadata.name=b" });
  const byPath = await collect(api, {}, sandboxes("b"));
  const inOther = await collect(api, {}, sandboxes().replace("/ns/", "/other/"));
  const everywhere = await collect(api, {}, "/apis/agents.x-k8s.io/v1beta1/sandboxes");
  await create(api, "a");
  await create(api, "b");
  await server.store.put({ apiVersion: "v1", kind: "Pod", metadata: { name: "b", namespace: "ns" }, spec: {} });
  await setImmediate();
  expect([byField, byPath, inOther, everywhere]).toEqual([["ADDED b"], ["ADDED b"], [], ["ADDED a", "ADDED b"]]);
});

test("an event reports a version that is too old, the answer one that is too new", async () => {
  const { api, server } = await serve({ window: 2 });
  for (const name of ["a", "b", "c"]) await create(api, name);
  expect(await collect(api, { resourceVersion: "1" })).toEqual(["ERROR 410", "end"]);
  const tooNew = String(Number(server.store.version()) + 1);
  expect(await api.watch(sandboxes(), { resourceVersion: tooNew })).toMatchObject({ status: 504 });
  expect(await api.watch("/apis/x/v1/things", {})).toMatchObject({ status: 404 });
});

test("bookmarks come each minute to who allows them, with the version to go on from", async () => {
  const { api, server } = await serve();
  const shown = await collect(api, { allowWatchBookmarks: "true" });
  const without = await collect(api, {});
  await server.store.clock.advance(125_000);
  const { status } = await api.send({ method: "GET", path: sandboxes() });
  expect(status).toBe(200);
  expect(shown).toEqual(Array(2).fill(`BOOKMARK ${server.store.version()}`));
  expect(without).toEqual([]);
});

test("initial events end with a bookmark that says so", async () => {
  const { api, server } = await serve();
  await create(api, "a");
  const query = { sendInitialEvents: "true", allowWatchBookmarks: "true", resourceVersionMatch: "NotOlderThan" };
  expect(await collect(api, query)).toEqual(["ADDED a", `BOOKMARK ${server.store.version()}`]);
});

test("a watch ends when the server closes it, when its signal fires, and when its reader has enough", async () => {
  const { api } = await serve();
  const closed = await collect(api, {});
  api.endWatches();
  await setImmediate();
  expect(closed).toEqual(["end"]);
  const broken = await api.watch(sandboxes(), {});
  const signalled = new AbortController();
  const given = await api.watch(sandboxes(), {}, signalled.signal);
  const [first, second] = [broken, given].map(({ events }) => events[Symbol.asyncIterator]().next());
  signalled.abort(new Error("given up"));
  api.endWatches(new Error("connection reset"));
  await expect(first).rejects.toThrow("connection reset");
  await expect(second).rejects.toThrow("given up");
  const left = await api.watch(sandboxes(), {});
  const reader = left.events[Symbol.asyncIterator]();
  const waiting = reader.next();
  expect(api.isAwaited()).toBe(true);
  await reader.return?.();
  expect(await waiting).toMatchObject({ done: true });
  expect(api.isAwaited()).toBe(false);
});

test("listAndWatch() lists, watches, and lists again when its version is too old", async () => {
  const { api } = await serve({ window: 1 });
  await create(api, "a");
  const seen: string[] = [];
  const ending = new AbortController();
  const handler = {
    observe: ({ metadata }: KubeObject) => void seen.push(`observe ${metadata.name}`),
    gone: () => void seen.push("gone"),
    listed: (uids: ReadonlySet<string>) => void seen.push(`listed ${uids.size}`),
  };
  const parse = (object: unknown) => object as KubeObject;
  const following = listAndWatch(api, { path: sandboxes(), parse }, handler, { log: () => {}, signal: ending.signal });
  await setImmediate();
  await create(api, "b");
  await remove(api, "a");
  await setImmediate();
  expect(seen).toEqual(["observe a", "listed 1", "observe b", "gone"]);
  ending.abort();
  await following;
  expect(api.isAwaited()).toBe(false);
});
