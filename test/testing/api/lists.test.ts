/** Lists of the API in memory: selectors, pages, order. @module */
import { expect, test } from "vitest";
import { bodyOf, create, sandboxes, serve } from "./requests.ts";

const namesIn = ({ items }: { items: { metadata: { name: string } }[] }) => items.map(({ metadata }) => metadata.name);

test.for([
  { query: {}, names: ["a", "b", "c"] },
  { query: { labelSelector: "tier=web" }, names: ["a"] },
  { query: { labelSelector: "tier==web" }, names: ["a"] },
  { query: { labelSelector: "tier!=web" }, names: ["b", "c"] },
  { query: { labelSelector: "tier in (web, db)" }, names: ["a", "b"] },
  { query: { labelSelector: "tier notin (web,db)" }, names: ["c"] },
  { query: { labelSelector: "tier" }, names: ["a", "b"] },
  { query: { labelSelector: "!tier" }, names: ["c"] },
  { query: { labelSelector: "tier in (web,db),example.com/x=" }, names: ["b"] },
  { query: { fieldSelector: "metadata.name=b" }, names: ["b"] },
  { query: { fieldSelector: "metadata.name!=b,metadata.namespace=ns" }, names: ["a", "c"] },
  { query: { fieldSelector: "metadata.name=b", labelSelector: "tier=web" }, names: [] },
])("$query selects $names", async ({ query, names }) => {
  const { api } = await serve();
  await create(api, "c");
  await create(api, "b", { labels: { tier: "db", "example.com/x": "" } });
  await create(api, "a", { labels: { tier: "web" } });
  const { status, body } = await api.send({ method: "GET", path: sandboxes(), query: query as Record<string, string> });
  expect(status).toBe(200);
  expect(namesIn(bodyOf({ status, body }))).toEqual(names);
});

test("a selector that cannot be read is refused", async () => {
  const { api } = await serve();
  const answer = await api.send({ method: "GET", path: sandboxes(), query: { labelSelector: "a=b=c" } });
  expect(answer).toMatchObject({ status: 400, body: { reason: "BadRequest" } });
});

test("a list comes in pages, all of one kind, and says the version to watch from", async () => {
  const { api, server } = await serve();
  for (const name of ["a", "b", "c", "d", "e"]) await create(api, name);
  const pages = [];
  for (let token: string | undefined = ""; token !== undefined;) {
    const query: Record<string, string> = { limit: "2", ...(token && { continue: token }) };
    const page = bodyOf(await api.send({ method: "GET", path: sandboxes(), query }));
    pages.push(page);
    token = page.metadata.continue;
  }
  expect(pages.map(namesIn)).toEqual([["a", "b"], ["c", "d"], ["e"]]);
  expect(pages.map(({ metadata }) => metadata.remainingItemCount)).toEqual([3, 1, undefined]);
  expect(pages[0]).toMatchObject({ kind: "SandboxList", metadata: { resourceVersion: server.store.version() } });
});

test("a token that is none of the server's is refused", async () => {
  const { api } = await serve();
  const answer = await api.send({ method: "GET", path: sandboxes(), query: { continue: "?" } });
  expect(answer).toMatchObject({ status: 400 });
});

test("items of custom resources say their kind, those of built-in ones do not", async () => {
  const { api, server } = await serve();
  await create(api, "a");
  await server.store.put({ apiVersion: "v1", kind: "Pod", metadata: { name: "p", namespace: "ns" }, spec: {} });
  const item = async (path: string) => bodyOf(await api.send({ method: "GET", path })).items[0];
  expect(await item(sandboxes())).toMatchObject({ kind: "Sandbox", apiVersion: "agents.x-k8s.io/v1beta1" });
  expect(Object.keys(await item("/api/v1/pods"))).not.toContain("kind");
});
