/** `hookbox why`, `pool`, `get` and `logs` on a cluster in memory: the hooks and the keeper are the real ones. @module */
import { afterAll, beforeAll, expect, test } from "vitest";
import { createTestCluster, type TestCluster } from "../../packages/testing/mod.ts";
import { Interruption } from "../../packages/cli/failure.ts";
import { runCLI } from "../../packages/cli/program.ts";
import { fakeApi, fakeContext, run } from "./fakecontext.ts";
import { eventually } from "../eventually.ts";

const EXTENSIONS = "extensions.agents.x-k8s.io/v1beta1";
const template = {
  apiVersion: EXTENSIONS,
  kind: "SandboxTemplate",
  metadata: { name: "python" },
  spec: { podTemplate: { spec: { containers: [{ name: "main", image: "python:3.14" }] } } },
};
const pool = {
  apiVersion: EXTENSIONS,
  kind: "SandboxWarmPool",
  metadata: { name: "python" },
  spec: { replicas: 2, sandboxTemplateRef: { name: "python" } },
};
const claim = (name: string, warmPool: string) => ({
  apiVersion: EXTENSIONS,
  kind: "SandboxClaim",
  metadata: { name },
  spec: { warmPoolRef: { name: warmPool } },
});

let cluster: TestCluster;
beforeAll(async () => {
  cluster = await createTestCluster();
  await cluster.apply(template, pool);
  await cluster.until("SandboxWarmPool", "python", (found) => found?.status?.readyReplicas === 2);
  await cluster.apply(claim("mine", "python"), claim("lost", "none"));
  await cluster.until("SandboxClaim", "mine", (found) => found?.status?.sandbox?.name !== undefined);
  await cluster.until("SandboxClaim", "lost", (found) => found?.status?.conditions?.[0]?.reason === "WarmPoolNotFound");
  await cluster.until("SandboxWarmPool", "python", (found) => found?.status?.readyReplicas === 2);
});
afterAll(() => cluster.stop());

const look = (line: string) => run(line, { api: cluster.api, now: () => new Date(cluster.clock.now()) });

/** Columns instead of spaces. */
const cells = (text: string) => text.replaceAll(/ {3,}/g, " | ");

test("get shows what the hooks have said", async () => {
  expect(cells((await look("get claims")).stdout)).toMatch(
    /^NAME \| STATUS \| SANDBOX \| AGE\nlost \| WarmPoolNotFound \| <none> \| \d+s\nmine \| Running \| python-\S+ \| \d+s\n$/,
  );
  expect(cells((await look("get swp -o wide")).stdout)).toMatch(
    /^NAME \| READY \| DESIRED \| STATUS \| TEMPLATE \| AGE \| UPDATES \| DETAIL\npython \| 2 \| 2 \| Full \| python \| \d+s \| OnReplenish \| <none>\n$/,
  );
  expect(cells((await look("get templates")).stdout)).toMatch(
    /^NAME \| IMAGES \| AGE\npython \| python:3.14 \| \d+s\n$/,
  );
});

test("get -w shows what is there, then each change, in the same columns, until it is interrupted", async () => {
  const stop = new AbortController();
  const { context, written } = fakeContext({ api: cluster.api, signal: stop.signal });
  const watching = runCLI(["get", "claims", "-w"], context);
  await eventually(() => written.stdout).toMatch(/\nmine /);
  await cluster.apply(claim("third", "python"));
  await eventually(() => written.stdout).toMatch(/\nthird +Running/);
  stop.abort(new Interruption());
  expect(await watching).toBe(130);
  expect(written.stdout.match(/NAME/g)).toHaveLength(1);
  await cluster.delete("SandboxClaim", "third");
});

test("why names the cause, and what to do; the code tells whether there is something of that name", async () => {
  const lost = await look("why lost");
  expect(lost).toMatchObject({ code: 0, stderr: "" });
  expect(lost.stdout).toMatch(/^PoolNotFound|^WarmPoolNotFound/);
  expect(lost.stdout).toMatch(/\nDo: /);
  const found = JSON.parse((await look("why claim/lost -o json")).stdout);
  expect(found).toMatchObject({ isOk: false, object: { kind: "SandboxWarmPool", name: "none" } });
  expect((await look("why claim/mine")).stdout).toMatch(/^Ready: /);
  expect((await look("why nobody")).code).toBe(1);
  expect(await look("why thing/x")).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^Cannot explain "thing\/x"/),
  });
  expect(await look("why pool/")).toMatchObject({
    code: 2,
    stderr: 'Cannot explain "pool/": write a name, or kind/name such as claim/session\n',
  });
});

test("pool shows how claims were served", async () => {
  await cluster.until("SandboxWarmPool", "python", (found) => found?.status?.readyReplicas === 2);
  const { stdout } = await look("pool");
  expect(stdout).toMatch(
    /^NAME +READY +DESIRED +WAITING +SERVED \(1H\) +COLD +HIT RATE +AGE +WHY NOT FULL\npython +2 +2 +0 +1 +0 +100/,
  );
  expect(JSON.parse((await look("pool status python -o json")).stdout)).toMatchObject([{ name: "python", ready: 2 }]);
  expect(await look("pool -n elsewhere")).toEqual({
    code: 0,
    stdout: "",
    stderr: "No pools found in elsewhere namespace.\n",
  });
});

test("pool simulate needs no cluster where everything is said", async () => {
  const { code, stdout } = await run("pool simulate --rate 1 --for 2m --refill 3s --target 0.9");
  expect(code).toBe(0);
  expect(stdout).toMatch(/\nSmallest pool for a hit rate of 90.0%: \d+\n$/);
  expect(await run("pool simulate --rate much")).toMatchObject({
    code: 2,
    stderr: 'Cannot use --rate "much": use a number above 0\n',
  });
});

test("pool simulate without a name means the only pool", async () => {
  const { stdout } = await look("pool simulate --refill 3s");
  expect(stdout).toMatch(/^Pool default\/python: 1 claims? in /);
  expect(stdout).toBe((await look("pool simulate python --refill 3s")).stdout);
  expect(await look("pool simulate -n elsewhere")).toEqual({
    code: 2,
    stdout: "",
    stderr: 'Cannot simulate a pool: there is none in namespace "elsewhere"\n',
  });
});

test("logs prints the log of the claim's Pod, byte by byte", async () => {
  const api = fakeApi({
    "GET /api/v1/namespaces/default": { metadata: { name: "default" } },
    [`GET /apis/${EXTENSIONS}/namespaces/default/sandboxclaims/mine`]: cluster.get("SandboxClaim", "mine"),
    [`GET /api/v1/namespaces/default/pods/${cluster.get("SandboxClaim", "mine")?.status.sandbox.name}/log`]: {
      status: 200,
      body: "grüße\nzwei\n",
    },
  });
  expect(await run("logs mine --tail 2 --since 5m -c main", { api })).toEqual({
    code: 0,
    stdout: "grüße\nzwei\n",
    stderr: "",
  });
  expect(api.requests.at(-1)?.query).toEqual({ container: "main", tailLines: "2", sinceSeconds: "300" });
  expect(await run("logs mine --tail all", { api })).toMatchObject({ code: 2 });
  const none = await run("logs other", { api });
  expect(none.code).toBe(1);
  expect(none.stderr).toBe(
    "Cannot find sandbox default/other: there is neither a claim nor a Sandbox of that name\n" +
      "`hookbox get` lists those that there are.\n",
  );
});
