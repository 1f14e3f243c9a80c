/** A sandbox that is there, on a cluster in memory: its mode, its end, lists, and its deletion. @module */
import { expect, test } from "vitest";
import type { Api } from "../../packages/kube/api.ts";
import { SandboxClient } from "../../packages/sdk/client.ts";
import { ConflictError, InvalidArgumentError, SandboxNotFoundError } from "../../packages/sdk/errors.ts";
import { POOL } from "./pool.ts";
import { aClient } from "./testclient.ts";
import { until } from "../eventually.ts";

test("suspend, resume, connect", async () => {
  const { client, cluster } = await aClient();
  await cluster.apply(POOL);
  const sandbox = await client.create({ pool: "python", name: "mine" });
  await sandbox.suspend();
  expect((await sandbox.getInfo()).state).toBe("Suspended");
  expect((await cluster.objects("Pod")).map(({ metadata }) => metadata.name)).not.toContain(sandbox.sandboxName);
  await client.resume("mine");
  expect((await sandbox.getInfo()).state).toBe("Ready");
  await client.suspend("mine");
  const again = await client.connect("mine");
  expect([again.sandboxName, (await again.getInfo()).state]).toEqual([sandbox.sandboxName, "Ready"]);
  await expect(client.connect("other")).rejects.toBeInstanceOf(SandboxNotFoundError);
});

test("restart gives another Pod, made from the spec as it is now, and keeps the rest", async () => {
  const { client, cluster } = await aClient();
  await cluster.apply(POOL);
  const sandbox = await client.create({ pool: "python", name: "mine" });
  const { sandboxName } = sandbox;
  const pod = async () => (await cluster.objects("Pod")).find(({ metadata }) => metadata.name === sandboxName);
  const before = await pod();
  const [container] = (before as { spec: { containers: [{ name: string }] } }).spec.containers;
  const spec = { podTemplate: { spec: { containers: [{ ...container, image: "python:next" }] } } };
  const path = `/apis/agents.x-k8s.io/v1beta1/namespaces/default/sandboxes/${sandboxName}`;
  await cluster.api.send({ method: "PATCH", path, body: { spec } });
  await client.restart("mine");
  expect((await sandbox.getInfo()).state).toBe("Ready");
  const after = await pod();
  expect(after?.metadata.uid).not.toBe(before?.metadata.uid);
  expect(after).toMatchObject({ spec: { containers: [{ image: "python:next" }] } });
});

test("who resumes a sandbox that is being suspended ends the wait for it; a restart given up leaves it running", async () => {
  const { client, cluster } = await aClient();
  await cluster.apply(POOL);
  const sandbox = await client.create({ pool: "python", name: "mine" });
  const path = `/apis/agents.x-k8s.io/v1beta1/namespaces/default/sandboxes/${sandbox.sandboxName}`;
  const wake: Api = {
    watch: (...asked) => cluster.api.watch(...asked),
    async send(request) {
      const answer = await cluster.api.send(request);
      if (request.method === "PATCH" && request.path === path) {
        await cluster.api.send({ ...request, body: { spec: { operatingMode: "Running" } } });
      }
      return answer;
    },
  };
  const disturbed = await new SandboxClient({ api: wake, namespace: "default" }).connect("mine");
  await expect(disturbed.suspend()).rejects.toThrow("it was resumed in the meantime");
  await expect(disturbed.restart()).rejects.toBeInstanceOf(ConflictError);
  const given = AbortSignal.abort(new Error("given up"));
  await expect(sandbox.restart({ signal: given })).rejects.toThrow("given up");
  const { body } = await cluster.api.send({ method: "GET", path });
  expect(body).toMatchObject({ spec: { operatingMode: "Running" } });
});

test("suspend resolves when the claim says so as well, which learns of it later", async () => {
  const { client, cluster } = await aClient();
  await cluster.apply(POOL);
  await client.create({ pool: "python", name: "mine" });
  const path = "/apis/extensions.agents.x-k8s.io/v1beta1/namespaces/default/sandboxclaims/mine";
  const before = await cluster.api.send({ method: "GET", path });
  let isLate = false;
  const late: Api = {
    watch: (...asked) => cluster.api.watch(...asked),
    async send(request) {
      const answer = await cluster.api.send(request);
      if (request.method === "PATCH") isLate = true;
      if (!isLate || request.method !== "GET" || request.path !== path) return answer;
      isLate = false;
      return before;
    },
  };
  const sandbox = await new SandboxClient({ api: late, namespace: "default" }).connect("mine");
  await sandbox.suspend();
  expect((await sandbox.getInfo()).state).toBe("Suspended");
});

test("its end: set, extended by each who asks, also where an answer is lost, and taken away", async () => {
  const { client, cluster, loseAnswer } = await aClient();
  await cluster.apply(POOL);
  const sandbox = await client.create({ pool: "python", timeoutMs: 600_000 });
  const { expiresAt } = await sandbox.getInfo();
  await expect(sandbox.setTimeout(0)).rejects.toBeInstanceOf(InvalidArgumentError);
  await Promise.all([sandbox.extendTimeout(1000), sandbox.extendTimeout(2000)]);
  loseAnswer(({ method }) => method === "PATCH");
  await sandbox.extendTimeout(4000);
  expect((await sandbox.getInfo()).expiresAt?.getTime()).toBe((expiresAt?.getTime() ?? 0) + 7000);
  expect(await sandbox.setTimeout(null)).toBeUndefined();
  expect((await sandbox.getInfo()).expiresAt).toBeUndefined();
  await expect(sandbox.extendTimeout(1000)).rejects.toThrow(/it has none/);
});

test("kill deletes what it was made from, and nothing else of its name", async () => {
  const { client, cluster } = await aClient();
  await cluster.apply(POOL);
  const old = await client.create({ pool: "python", name: "mine" });
  expect(await client.kill("mine")).toBe(true);
  const next = await client.create({ pool: "python", name: "mine" });
  expect(await old.kill()).toBe(false);
  expect((await next.getInfo()).state).toBe("Ready");
  await using block = next;
  expect(block.name).toBe("mine");
  expect(await client.kill("none")).toBe(false);
});

test("lists claims and Sandboxes of their own, page by page", async () => {
  const { client, cluster } = await aClient({ namespaces: ["default", "other"] });
  await cluster.apply(POOL);
  for (const name of ["a", "b", "c"]) {
    await client.create({ pool: "python", name, labels: { odd: String(name !== "b") } });
  }
  await client.create({ image: "x", name: "d" });
  await client.create({ image: "x", name: "e", namespace: "other" });
  const names = async (options: object) => {
    const all: string[] = [];
    for await (const { name } of client.list(options)) all.push(name);
    return all;
  };
  expect(await names({})).toEqual(["a", "b", "c", "d"]);
  expect(await names({ namespace: "*" })).toEqual(["a", "b", "c", "d", "e"]);
  expect(await names({ labelSelector: "odd=true" })).toEqual(["a", "c"]);
  const first = await client.list().page({ limit: 2 });
  expect(first.items.map(({ name }) => name)).toEqual(["a", "b"]);
  const second = await client.list().page({ limit: 2, cursor: first.cursor ?? "" });
  expect(second.items.map(({ name }) => name)).toEqual(["c"]);
});

test("getOrCreate makes one, once", async () => {
  const { client, cluster } = await aClient();
  await cluster.apply(POOL);
  const both = await Promise.all([1, 2].map(() => client.getOrCreate("mine", { pool: "python" })));
  expect(both[0]?.sandboxName).toBe(both[1]?.sandboxName);
  expect((await cluster.objects("SandboxClaim")).length).toBe(1);
});

test("a watch that breaks is opened again", async () => {
  const { client, cluster, asked } = await aClient();
  cluster.pods.plan("*", { fault: "unschedulable" });
  const creating = client.create({ image: "x" });
  let watches = 0;
  const hasWatched = (times: number) =>
    until(() => (watches += asked().filter((one) => one === "WATCH sandboxes").length) >= times);
  await hasWatched(1);
  cluster.endWatches(new Error("cut"));
  await hasWatched(watches + 1);
  await cluster.pods.recover("*");
  expect((await (await creating).getInfo()).state).toBe("Ready");
});
