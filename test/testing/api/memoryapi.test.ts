/** Requests to the API in memory, answered as an API server answers them. @module */
import { expect, test } from "vitest";
import { aSandbox, bodyOf, create, sandboxes, serve } from "./requests.ts";

test("POST answers 201 with the object as it is stored: defaults, uid, generation, resourceVersion", async () => {
  const { api } = await serve();
  const { status, body } = await api.send({ method: "POST", path: sandboxes(), body: aSandbox("box") });
  expect(status).toBe(201);
  expect(body).toMatchObject({
    apiVersion: "agents.x-k8s.io/v1beta1",
    kind: "Sandbox",
    metadata: {
      name: "box",
      namespace: "ns",
      generation: 1,
      uid: expect.any(String),
      resourceVersion: expect.any(String),
    },
    spec: { operatingMode: "Running", shutdownPolicy: "Retain" },
  });
  expect(await api.send({ method: "GET", path: sandboxes("box") })).toEqual({ status: 200, body });
});

test("generateName makes names of their own", async () => {
  const { api } = await serve();
  const names = [await create(api, "", { generateName: "box-" }), await create(api, "", { generateName: "box-" })]
    .map(({ metadata }) => metadata.name);
  expect(names).toEqual([expect.stringMatching(/^box-.{5}$/), expect.stringMatching(/^box-.{5}$/)]);
  expect(new Set(names).size).toBe(2);
});

test("what is not served is 404, and no Status", async () => {
  const { api } = await serve();
  for (
    const path of [
      "/apis/agents.x-k8s.io/v9/sandboxes",
      "/api/v1/namespaces/ns/things",
      `${sandboxes("box")}/exec`,
      "/x",
    ]
  ) {
    expect(await api.send({ method: "GET", path })).toEqual({ status: 404, body: { message: "404 page not found" } });
  }
});

test("a merge patch changes what it names, removes what is null, and counts generations of the spec alone", async () => {
  const { api } = await serve();
  await create(api, "box", { labels: { a: "1", b: "2" } });
  const patch = async (body: object, path = sandboxes("box")) =>
    bodyOf(await api.send({ method: "PATCH", path, body }));
  expect((await patch({ metadata: { labels: { a: null, c: "3" } } })).metadata).toMatchObject({
    labels: { b: "2", c: "3" },
    generation: 1,
  });
  expect((await patch({ spec: { operatingMode: "Suspended" } })).metadata.generation).toBe(2);
  expect((await patch({ status: { service: "x" } })).status, "the status is a resource of its own").not.toMatchObject({
    service: "x",
  });
  const shown = await patch(
    { status: { service: "x" }, spec: { operatingMode: "Running" } },
    `${sandboxes("box")}/status`,
  );
  expect(shown).toMatchObject({
    status: { service: "x" },
    spec: { operatingMode: "Suspended" },
    metadata: { generation: 2 },
  });
});

test("a patch that changes nothing is no new version", async () => {
  const { api } = await serve();
  const { metadata } = await create(api, "box");
  const answer = await api.send({
    method: "PATCH",
    path: sandboxes("box"),
    body: { spec: { operatingMode: "Running" } },
  });
  expect(bodyOf(answer).metadata.resourceVersion).toBe(metadata.resourceVersion);
});

test("apply creates what is not there, and merges into what is", async () => {
  const { api } = await serve();
  const request = { method: "PATCH", patch: "apply", path: sandboxes("box") } as const;
  expect(await api.send({ ...request, body: aSandbox("box") })).toMatchObject({ status: 201 });
  expect(await api.send({ ...request, body: aSandbox("box", { labels: { a: "1" } }) })).toMatchObject({
    status: 200,
    body: { metadata: { labels: { a: "1" } } },
  });
});

test("a dry run answers like the request, and nothing stays of it", async () => {
  const { api, server } = await serve();
  const query = { dryRun: "All" };
  const made = await api.send({ method: "POST", path: sandboxes(), query, body: aSandbox("box") });
  expect(made).toMatchObject({ status: 201, body: { spec: { operatingMode: "Running" } } });
  expect(await api.send({ method: "GET", path: sandboxes("box") })).toMatchObject({ status: 404 });
  await create(api, "box");
  const before = server.store.version();
  const again = await api.send({ method: "POST", path: sandboxes(), query, body: aSandbox("box") });
  expect(again).toMatchObject({ status: 409 });
  const body = { spec: { operatingMode: "Suspended" } };
  expect(await api.send({ method: "PATCH", path: sandboxes("box"), query, body })).toMatchObject({ body });
  expect(await api.send({ method: "DELETE", path: sandboxes("box"), query })).toMatchObject({ status: 200 });
  expect(server.store.version()).toBe(before);
});

test("DELETE says that the object is gone, or shows what holds it", async () => {
  const { api } = await serve();
  const { metadata } = await create(api, "box");
  const gone = await api.send({
    method: "DELETE",
    path: sandboxes("box"),
    body: { preconditions: { uid: metadata.uid } },
  });
  expect(gone).toMatchObject({
    status: 200,
    body: { kind: "Status", status: "Success", details: { name: "box", uid: metadata.uid } },
  });
  await create(api, "held", { finalizers: ["example.com/x"] });
  const held = await api.send({ method: "DELETE", path: sandboxes("held"), body: { propagationPolicy: "Foreground" } });
  expect(held.body).toMatchObject({
    kind: "Sandbox",
    metadata: { deletionTimestamp: expect.any(String), finalizers: ["example.com/x"] },
  });
  const body = { metadata: { finalizers: null } };
  await api.send({ method: "PATCH", path: sandboxes("held"), body });
  expect(await api.send({ method: "GET", path: sandboxes("held") })).toMatchObject({ status: 404 });
});

test("DELETE of a collection takes what the selector names", async () => {
  const { api } = await serve();
  for (const name of ["a", "b", "c"]) await create(api, name, { labels: { group: name === "b" ? "stays" : "goes" } });
  await api.send({ method: "DELETE", path: sandboxes(), query: { labelSelector: "group=goes" } });
  const { items } = bodyOf(await api.send({ method: "GET", path: sandboxes() }));
  expect(items.map(({ metadata }: { metadata: { name: string } }) => metadata.name)).toEqual(["b"]);
});

test("what an answer holds is the caller's own, and what a request holds is not kept", async () => {
  const { api } = await serve();
  const sent = aSandbox("box", { labels: { a: "1" } }) as { metadata: { labels: Record<string, string> } };
  const body = bodyOf(await api.send({ method: "POST", path: sandboxes(), body: sent }));
  body.metadata.labels.a = "2";
  sent.metadata.labels["a"] = "3";
  expect(bodyOf(await api.send({ method: "GET", path: sandboxes("box") })).metadata.labels).toEqual({ a: "1" });
});

test("a fault replaces the answer, or the network fails; a signal gives a request up", async () => {
  const down = new Error("Cannot reach the server: connection refused");
  const fault = ({ path, method }: { path: string; method: string }) =>
    path.endsWith("/busy")
      ? { status: 429, body: { reason: "TooManyRequests" } }
      : method === "WATCH"
      ? down
      : undefined;
  const { api } = await serve({ fault });
  expect(await api.send({ method: "GET", path: sandboxes("busy") })).toMatchObject({ status: 429 });
  await expect(api.watch(sandboxes(), {})).rejects.toBe(down);
  expect(await api.send({ method: "GET", path: sandboxes() })).toMatchObject({ status: 200 });
  const signal = AbortSignal.abort(down);
  await expect(api.send({ method: "POST", path: sandboxes(), body: aSandbox("box"), signal })).rejects.toBe(down);
  expect(await api.send({ method: "GET", path: sandboxes("box") })).toMatchObject({ status: 404 });
});

test("discovery names what is served", async () => {
  const { api } = await serve();
  const at = async (path: string) => bodyOf(await api.send({ method: "GET", path }));
  expect((await at("/version")).gitVersion).toMatch(/^v1\.36\./);
  expect((await at("/apis/agents.x-k8s.io/v1beta1")).resources).toContainEqual(
    expect.objectContaining({ name: "sandboxes", kind: "Sandbox", namespaced: true }),
  );
  expect((await at("/api/v1")).resources).toContainEqual(expect.objectContaining({ name: "pods/status" }));
  expect((await at("/apis")).groups).toContainEqual(expect.objectContaining({ name: "extensions.agents.x-k8s.io" }));
});
