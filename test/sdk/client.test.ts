/** SandboxClient.create() on a cluster in memory: what it asks for, and what becomes of it. @module */
import { describe, expect, test } from "vitest";
import {
  ConflictError,
  InvalidArgumentError,
  SandboxFailedError,
  TemplateError,
  TimeoutError,
} from "../../packages/sdk/errors.ts";
import type { CreateOptions } from "../../packages/sdk/options.ts";
import { until } from "../eventually.ts";
import { holdTimers, hurry } from "../hurry.ts";
import { POOL } from "./pool.ts";
import { aClient } from "./testclient.ts";

describe("create()", () => {
  test("a claim on a pool: one request, one watch", async () => {
    const { client, cluster, asked } = await aClient();
    await cluster.apply(POOL);
    await cluster.settle();
    const sandbox = await client.create({
      pool: "python",
      name: "mine",
      labels: { team: "a" },
      metadata: { job: "7" },
      podLabels: { "sandbox.users.io/user": "ada" },
    });
    expect(asked()).toEqual(["POST sandboxclaims", "WATCH sandboxclaims"]);
    expect(await sandbox.getInfo()).toMatchObject({
      name: "mine",
      kind: "SandboxClaim",
      state: "Ready",
      pool: "python",
      sandboxName: sandbox.sandboxName,
      labels: { team: "a", "agents.x-k8s.io/created-by": "typescript-client" },
      metadata: { job: "7" },
      expiresAt: expect.any(Date),
    });
    expect(sandbox.sandboxName).toMatch(/^python-/);
  });

  test("a template: its pool, or an empty one that is made for it, once", async () => {
    const { client, cluster } = await aClient();
    await cluster.apply(POOL);
    expect((await (await client.create({ template: "python" })).getInfo()).pool).toBe("python");
    await cluster.apply(POOL.replaceAll("python", "node").split("---")[0] ?? "");
    const cold = await Promise.all([1, 2].map(() => client.create({ template: "node" })));
    expect(await Promise.all(cold.map(async (one) => (await one.getInfo()).pool))).toEqual(["node-cold", "node-cold"]);
    expect((await cluster.objects("SandboxWarmPool")).map(({ metadata }) => metadata.name).sort()).toEqual([
      "node-cold",
      "python",
    ]);
  });

  test("an image: a Sandbox of its own, with all that was asked for", async () => {
    const { client, cluster } = await aClient({}, { routerUrl: "http://router" });
    const sandbox = await client.create({
      image: "node:24",
      command: ["node", "server.js"],
      env: { A: "1" },
      ports: [3000],
      volumes: [{ name: "work", size: "1Gi", path: "/work" }],
      timeoutMs: 60_000,
      idleMs: 90_500,
      podAnnotations: { note: "x" },
    });
    const [object] = await cluster.objects("Sandbox");
    expect(object?.metadata).toMatchObject({
      name: sandbox.name,
      annotations: { "router.agents.x-k8s.io/idle-seconds": "91" },
    });
    expect(object?.["spec"]).toMatchObject({
      shutdownPolicy: "Delete",
      podTemplate: {
        metadata: { annotations: { note: "x" } },
        spec: {
          automountServiceAccountToken: false,
          containers: [{
            image: "node:24",
            command: ["node", "server.js"],
            env: [{ name: "A", value: "1" }],
            ports: [{ containerPort: 3000 }],
            volumeMounts: [{ name: "work", mountPath: "/work" }],
          }],
        },
      },
      volumeClaimTemplates: [{ metadata: { name: "work" }, spec: { resources: { requests: { storage: "1Gi" } } } }],
    });
  });

  test("what lasts for ever has no end and is never idle", async () => {
    const { client, cluster } = await aClient();
    for (const endless of [Infinity, Number.MAX_SAFE_INTEGER, null]) {
      const idle = endless === null ? {} : { idleMs: endless };
      const sandbox = await client.create({ image: "node:24", timeoutMs: endless, ...idle });
      const object = (await cluster.objects("Sandbox")).find(({ metadata }) => metadata.name === sandbox.name);
      expect(object?.["spec"]).not.toHaveProperty("shutdownTime");
      expect(Object.keys(object?.metadata.annotations ?? {})).not.toContain("router.agents.x-k8s.io/idle-seconds");
      expect(await sandbox.setTimeout(60_000)).toBeInstanceOf(Date);
      expect(await sandbox.setTimeout(endless)).toBeUndefined();
    }
  });

  test.for<{ options: CreateOptions; words: RegExp }>([
    { options: {}, words: /exactly one of pool, template and image is needed, and none is given/ },
    { options: { pool: "a", image: "b" }, words: /pool and image are given/ },
    { options: { pool: "a", name: "Not_A_Name" }, words: /"Not_A_Name": that is not a valid Kubernetes name/ },
    { options: { pool: "a", timeoutMs: 0 }, words: /timeoutMs 0 is not above 0/ },
    {
      options: { pool: "a", idleMs: 60_000 },
      words:
        /the router suspends idle sandboxes, and no router is named\. Give the client a `routerUrl`, .*HOOKBOX_ROUTER_URL/,
    },
    { options: { template: "a", env: {}, envs: {} }, words: /`env` and `envs` are the same, and both are given/ },
    { options: { pool: "a", ports: [1] }, words: /ports can be set only with `image`/ },
    {
      options: { pool: "a", volumes: [{ name: "v", size: "1Gi", path: "/v" }] },
      words: /mount paths of volumes can be set only with `image`/,
    },
  ])("refuses what makes no sense: $words", async ({ options, words }) => {
    const { client, asked } = await aClient();
    const error = await client.create(options).catch((error) => error);
    expect(error).toBeInstanceOf(InvalidArgumentError);
    expect(error.message).toMatch(words);
    expect(asked()).toEqual([]);
  });

  test("an answer that is lost makes nothing twice", async () => {
    const { client, cluster, loseAnswer } = await aClient();
    await cluster.apply(POOL);
    loseAnswer(({ method }) => method === "POST");
    const sandbox = await client.create({ pool: "python", name: "mine" });
    expect((await cluster.objects("SandboxClaim")).map(({ metadata }) => metadata.name)).toEqual(["mine"]);
    expect((await sandbox.getInfo()).state).toBe("Ready");
  });

  test("a name that is taken is a conflict, also where the answer is lost", async () => {
    const { client, cluster, loseAnswer } = await aClient();
    await cluster.apply(POOL);
    await client.create({ pool: "python", name: "mine" });
    await expect(client.create({ pool: "python", name: "mine" })).rejects.toBeInstanceOf(ConflictError);
    loseAnswer(({ method }) => method === "POST");
    await expect(client.create({ pool: "python", name: "mine" })).rejects.toBeInstanceOf(ConflictError);
    expect((await cluster.objects("SandboxClaim")).length).toBe(1);
  });
});

describe("what cannot succeed", () => {
  test.for<{ name: string; options: CreateOptions; error: unknown; reason: string; fault?: "image" | "config" }>([
    { name: "no pool", options: { pool: "none" }, error: TemplateError, reason: "WarmPoolNotFound" },
    { name: "no template", options: { template: "none" }, error: TemplateError, reason: "TemplateNotFound" },
    {
      name: "env that the template refuses",
      options: { pool: "python", env: { A: "1" } },
      error: TemplateError,
      reason: "EnvVarsInjectionRejected",
    },
  ])("$name: fails with the cause, and leaves nothing", async ({ options, error, reason }) => {
    const { client, cluster } = await aClient();
    await cluster.apply(POOL);
    const thrown = await client.create(options).catch((thrown) => thrown);
    expect(thrown).toBeInstanceOf(error);
    expect(thrown).toMatchObject({
      code: "FAILED",
      reason,
      remedy: expect.any(String),
      object: { name: expect.any(String) },
    });
    expect(await cluster.objects("SandboxClaim")).toEqual([]);
  });

  test("a Pod that will never run, as soon as that is looked into", async () => {
    hurry(20);
    const { client, cluster } = await aClient();
    cluster.pods.plan("*", { fault: "config" });
    const thrown = await client.create({ image: "x", keepFailed: true }).catch((thrown) => thrown);
    expect(thrown).toBeInstanceOf(SandboxFailedError);
    expect(thrown).toMatchObject({ object: { kind: "Secret", name: "absent" } });
    expect((await cluster.objects("Sandbox")).length).toBe(1);
  });

  test("a namespace that does not exist: that it does not", async () => {
    const { client } = await aClient();
    const why = 'namespace "nowhere" does not exist. Create the namespace, or use another one.';
    for (const options of [{ pool: "x" }, { image: "x" }, { template: "x" }]) {
      const thrown = await client.create({ ...options, namespace: "nowhere" }).catch((thrown) => thrown);
      expect(thrown).toMatchObject({ name: "NotFoundError", message: expect.stringContaining(why) });
    }
    const thrown = await client.connect("x", { namespace: "nowhere" }).catch((thrown) => thrown);
    expect(thrown).toMatchObject({ name: "SandboxNotFoundError", message: expect.stringContaining(why) });
  });

  test("the time is over: with what it waited for", async () => {
    const { client, cluster } = await aClient();
    cluster.pods.plan("*", { fault: "unschedulable" });
    const pass = holdTimers();
    const creating = client.create({ image: "x", readyTimeoutMs: 300 }).catch((thrown) => thrown);
    await until(() => JSON.stringify(cluster.objects("Sandbox")).includes("Insufficient cpu"));
    pass(300);
    const thrown = await creating;
    expect(thrown).toBeInstanceOf(TimeoutError);
    expect(thrown.message).toMatch(/not Ready after 0.3 s: .*Insufficient cpu/);
    expect(thrown.remedy).toMatch(/^Add nodes, or lower .*\. To wait longer, raise `readyTimeoutMs`\.$/);
    expect(await cluster.objects("Sandbox")).toEqual([]);
  });

  test("the time is over for one that is on its way: how to wait longer", async () => {
    const { client, cluster } = await aClient();
    cluster.pods.plan("*", { fault: "hangs" });
    const pass = holdTimers();
    const creating = client.create({ image: "x", readyTimeoutMs: 300 }).catch((thrown) => thrown);
    await until(() => cluster.objects("Pod").length > 0);
    pass(300);
    const thrown = await creating;
    expect(thrown).toBeInstanceOf(TimeoutError);
    expect(thrown.message).toMatch(/not Ready after 0.3 s: .* is starting/);
    expect(thrown.remedy).toBe("To wait longer, raise `readyTimeoutMs`.");
  });

  test("who gives up leaves nothing", async () => {
    const { client, cluster } = await aClient();
    cluster.pods.plan("*", { fault: "hangs" });
    const stop = new AbortController();
    const creating = client.create({
      image: "x",
      signal: stop.signal,
      onProgress: () => stop.abort(new Error("enough")),
    });
    await expect(creating).rejects.toThrow("enough");
    expect(await cluster.objects("Sandbox")).toEqual([]);
  });
});

test.for(["", ".", ".."])("no request is sent for the name %j, whose path is that of all objects", async (name) => {
  const { client, asked } = await aClient();
  const calls: Record<string, () => Promise<unknown>> = {
    kill: () => client.kill(name),
    getInfo: () => client.getInfo(name),
    connect: () => client.connect(name),
    suspend: () => client.suspend(name),
    setTimeout: () => client.setTimeout(name, 1000),
    why: () => client.why(name),
    namespace: () => client.kill("job", { namespace: name || "." }),
  };
  for (const [method, call] of Object.entries(calls)) {
    await expect(call(), method).rejects.toThrow(InvalidArgumentError);
    expect(asked(), method).toEqual([]);
  }
});
