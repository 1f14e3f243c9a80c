/** What SandboxClient.create() leaves behind: a sandbox that ends, or if it fails, nothing. @module */
import { setImmediate as immediate } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { Answer, Api, ApiRequest } from "../../../packages/kube/api.ts";
import { SandboxClient } from "../../../packages/sdk/client.ts";
import {
  ConnectionError,
  QuotaExceededError,
  SandboxError,
  TemplateError,
  TimeoutError,
} from "../../../packages/sdk/errors.ts";
import type { CreateOptions } from "../../../packages/sdk/options.ts";
import type { TestCluster, TestClusterOptions } from "../../../packages/testing/mod.ts";
import { until } from "../../eventually.ts";
import { holdTimers, hurry } from "../../hurry.ts";
import { POOL } from "../pool.ts";
import { aClient } from "../testclient.ts";

const HOUR_MS = 3_600_000;
const NO_RIGHT: Answer = { status: 403, body: { message: "no right", reason: "Forbidden" } };
const FORBIDDEN: Answer = { status: 403, body: { message: "exceeded quota", reason: "Forbidden" } };
/** The template of {@link POOL}, without the pool. */
const TEMPLATE = POOL.split("---")[0] ?? "";

/** Answers a request in place of the API server; undefined: the API server answers. */
type Instead = (request: ApiRequest, cluster: TestCluster) => Promise<Answer> | Answer | undefined;

const isPost = ({ method, path }: ApiRequest, resource: string) => method === "POST" && path.endsWith(`/${resource}`);

/** A cluster with the template `python`, and a client to whose requests `instead` may answer. */
async function aPlace(instead: Instead = () => undefined, options: TestClusterOptions = {}) {
  const { cluster } = await aClient(options);
  await cluster.apply(TEMPLATE);
  await cluster.settle();
  const api: Api = {
    ...cluster.api,
    send: async (request) => await instead(request, cluster) ?? await cluster.api.send(request),
  };
  const names = (kind: string) => cluster.objects(kind).map(({ metadata }) => metadata.name);
  return {
    cluster,
    client: new SandboxClient({ api, namespace: "default" }),
    /** Names of all claims, Sandboxes and pools. */
    left: () => ["SandboxClaim", "Sandbox", "SandboxWarmPool"].flatMap(names),
  };
}

async function failureOf(creating: Promise<unknown>): Promise<Error & Partial<SandboxError>> {
  return await creating.then(() => new Error("It did not fail"), (error) => error);
}

describe("the end of a sandbox", () => {
  test.for<{ name: string; options: CreateOptions; kind: string }>([
    { name: "of a claim", options: { template: "python" }, kind: "SandboxClaim" },
    { name: "from an image", options: { image: "node:24" }, kind: "Sandbox" },
  ])("$name: an hour from now by the cluster's clock", async ({ options, kind }) => {
    const { client, cluster } = await aPlace(undefined, { start: new Date("2020-01-01T00:00:00Z") });
    const begun = cluster.clock.now();
    const sandbox = await client.create(options);
    const { expiresAt } = await sandbox.getInfo();
    expect(expiresAt?.getTime()).toBe(begun + HOUR_MS);
    expect((await sandbox.why()).code).toBe("Ready");
    expect(JSON.stringify(cluster.get(kind, sandbox.name)?.spec)).toContain('"shutdownPolicy":"Delete"');
    await cluster.clock.advance(begun + HOUR_MS - cluster.clock.now() - 1000);
    expect(cluster.get(kind, sandbox.name)).toBeDefined();
    await cluster.clock.advance(2000);
    expect([cluster.get(kind, sandbox.name), cluster.get("Sandbox", sandbox.sandboxName)]).toEqual([
      undefined,
      undefined,
    ]);
  });

  test("getOrCreate sets it once; timeoutMs sets another or none, which leaves a pool its default", async () => {
    const { client, cluster } = await aPlace();
    const { expiresAt } = await (await client.getOrCreate("mine", { template: "python" })).getInfo();
    expect(expiresAt).toBeInstanceOf(Date);
    await cluster.clock.advance(60_000);
    const again = await client.getOrCreate("mine", { template: "python", timeoutMs: 5 * HOUR_MS });
    expect((await again.getInfo()).expiresAt).toEqual(expiresAt);
    const begun = cluster.clock.now();
    const short = await client.create({ template: "python", timeoutMs: 120_000 });
    expect((await short.getInfo()).expiresAt?.getTime()).toBe(Math.floor(begun / 1000) * 1000 + 120_000);
    for (const timeoutMs of [null, Infinity]) {
      const { name } = await client.create({ template: "python", timeoutMs });
      expect(cluster.get("SandboxClaim", name)?.spec).not.toHaveProperty("lifecycle");
    }
  });

  test("this machine's clock is three hours late, and no answer has told: the client asks for the time once", async () => {
    const { cluster } = await aPlace(undefined, { start: new Date(Date.now() + 3 * HOUR_MS) });
    const asked: string[] = [];
    const api: Api = {
      ...cluster.api,
      now: () => asked.length === 0 ? undefined : cluster.api.now?.(),
      send: async (request) => {
        asked.push(`${request.method} ${request.path.split("/").at(-1)}`);
        return await cluster.api.send(request);
      },
    };
    const client = new SandboxClient({ api, namespace: "default" });
    const begun = Math.floor(cluster.clock.now() / 1000) * 1000;
    const sandbox = await client.create({ image: "a" });
    await client.create({ image: "b" });
    expect(asked).toEqual(["GET api", "POST sandboxes", "POST sandboxes"]);
    expect((await sandbox.getInfo()).expiresAt?.getTime()).toBe(begun + HOUR_MS);
    const set = await sandbox.setTimeout(HOUR_MS);
    expect(set?.getTime()).toBeGreaterThanOrEqual(begun + HOUR_MS);
  });
});

describe("a creation that fails leaves nothing", () => {
  test("a template that does not exist: nothing is created", async () => {
    const posted: string[] = [];
    const { client, left } = await aPlace(({ method, path }) => void (method === "POST" && posted.push(path)));
    const error = await failureOf(client.create({ template: "typo" }));
    expect(error).toBeInstanceOf(TemplateError);
    expect(error).toMatchObject({
      reason: "TemplateNotFound",
      object: { kind: "SandboxTemplate", namespace: "default", name: "typo" },
      remedy: expect.stringContaining("kubectl get sandboxtemplates -n default"),
    });
    expect([posted, left()]).toEqual([[], []]);
  });

  test("a template that does not exist and may not be read: claim and pool are deleted", async () => {
    const { client, left } = await aPlace(({ path }) => path.includes("sandboxtemplates") ? NO_RIGHT : undefined);
    const error = await failureOf(client.create({ template: "typo" }));
    expect(error).toMatchObject({ name: "TemplateError", reason: "TemplateNotFound" });
    expect(left()).toEqual([]);
  });

  test("a claim that quota or policy refuses: its pool is deleted", async () => {
    const { client, left } = await aPlace((request) => isPost(request, "sandboxclaims") ? FORBIDDEN : undefined);
    const error = await failureOf(client.create({ template: "python" }));
    expect(error).toBeInstanceOf(QuotaExceededError);
    expect(error).toMatchObject({
      ...{ code: "QUOTA_EXCEEDED", reason: "QuotaExceeded", message: expect.stringContaining("exceeded quota") },
      remedy: expect.stringContaining("kubectl describe quota -n default"),
    });
    expect(left()).toEqual([]);
  });

  test("a pool that claims of others use stays, one that was there before as well", async () => {
    const { client, cluster, left } = await aPlace((request, { apply }) => {
      if (!isPost(request, "sandboxclaims")) return undefined;
      const spec = { warmPoolRef: { name: "python-cold" } };
      const claim = { apiVersion: "extensions.agents.x-k8s.io/v1beta1", kind: "SandboxClaim", spec };
      return apply({ ...claim, metadata: { name: "others" } }).then(() => FORBIDDEN);
    });
    await failureOf(client.create({ template: "python" }));
    expect(left()).toContain("python-cold");
    await cluster.delete("SandboxClaim", "others");
    await cluster.settle();
    await failureOf(client.create({ template: "python" }));
    await cluster.delete("SandboxClaim", "others");
    await cluster.settle();
    expect(left()).toEqual(["python-cold"]);
  });

  test("a pool that another call has deleted again is created anew, once", async () => {
    let deletions = 0;
    const { client, cluster } = await aPlace((request) => {
      if (isPost(request, "sandboxclaims") && deletions++ === 0) return deleted();
      return undefined;
    });
    const deleted = () => cluster.delete("SandboxWarmPool", "python-cold").then(() => undefined as unknown as Answer);
    const sandbox = await client.create({ template: "python", name: "mine" });
    expect(await sandbox.getInfo()).toMatchObject({ state: "Ready", pool: "python-cold" });
    expect(deletions).toBe(2);
  });

  test.for<{ name: string; fault: "hangs" | "config" | "unschedulable"; error: string }>([
    { name: "it does not become Ready in time", fault: "unschedulable", error: "TimeoutError" },
    { name: "its Pod cannot run", fault: "config", error: "SandboxFailedError" },
  ])("$name", async ({ fault, error: name }) => {
    hurry(100);
    const { client, cluster, left } = await aPlace();
    cluster.pods.plan("*", { fault });
    const error = await failureOf(client.create({ template: "python", readyTimeoutMs: 20_000 }));
    expect(error).toMatchObject({ name, leftover: undefined });
    await cluster.settle();
    expect(left()).toEqual([]);
  });

  test("keepFailed keeps claim, Sandbox and pool", async () => {
    hurry(100);
    const { client, cluster, left } = await aPlace();
    cluster.pods.plan("*", { fault: "config" });
    await failureOf(client.create({ template: "python", name: "kept", keepFailed: true }));
    expect(left()).toEqual(["kept", "kept", "python-cold"]);
  });

  test("a sandbox of the same name that somebody else has created since then stays", async () => {
    const { client, cluster } = await aPlace();
    cluster.pods.plan("*", { fault: "hangs" });
    const stop = new AbortController();
    const creating = failureOf(client.create({ image: "x", name: "same", signal: stop.signal }));
    await until(() => cluster.get("Pod", "same") !== undefined);
    const uidOf = () => cluster.get("Sandbox", "same")?.metadata.uid;
    const first = uidOf();
    const other = { ...cluster.get("Sandbox", "same"), metadata: { name: "same" }, status: undefined };
    const remove = cluster.api.send;
    cluster.api.send = async (request) => {
      if (request.method === "DELETE") {
        cluster.api.send = remove;
        await cluster.delete("Sandbox", "same");
        await cluster.settle();
        await cluster.apply(JSON.parse(JSON.stringify(other)));
      }
      return await remove(request);
    };
    stop.abort(new Error("enough"));
    expect((await creating).message).toBe("enough");
    expect(uidOf()).not.toBe(first);
    expect(uidOf()).toBeDefined();
  });
});

describe("a creation that is aborted leaves nothing", () => {
  test.for(["sandboxwarmpools", "sandboxclaims"])("while the API server creates %s", async (resource) => {
    const stop = new AbortController();
    const { client, left } = await aPlace((request, { api }) => {
      if (!isPost(request, resource)) return undefined;
      const { signal: _, ...carriedOut } = request;
      return api.send(carriedOut).then((answer) => {
        stop.abort(new Error("enough"));
        return answer;
      });
    });
    const error = await failureOf(client.create({ template: "python", signal: stop.signal }));
    expect(error).toBe(stop.signal.reason);
    expect(left()).toEqual([]);
  });

  test("while the API server refuses the claim: the reason of the signal counts", async () => {
    const stop = new AbortController();
    const { client, left } = await aPlace((request) => {
      if (!isPost(request, "sandboxclaims")) return undefined;
      stop.abort(new Error("enough"));
      return FORBIDDEN;
    });
    expect(await failureOf(client.create({ template: "python", signal: stop.signal }))).toBe(stop.signal.reason);
    expect(left()).toEqual([]);
  });

  test("before the first request, and during the wait", async () => {
    const { client, cluster, left } = await aPlace();
    const signal = AbortSignal.abort(new Error("enough"));
    expect(await failureOf(client.create({ image: "x", signal }))).toBe(signal.reason);
    cluster.pods.plan("*", { fault: "hangs" });
    const stop = new AbortController();
    const onProgress = () => stop.abort(new Error("enough"));
    const creating = client.create({ template: "python", signal: stop.signal, onProgress });
    expect(await failureOf(creating)).toBe(stop.signal.reason);
    await cluster.settle();
    expect(left()).toEqual([]);
  });

  test("an answer that comes too late: the error names the claim, which is deleted as soon as there is an answer", async () => {
    const stop = new AbortController();
    const { promise: silence, resolve: answer } = Promise.withResolvers<void>();
    let isMade = false;
    const { client, cluster, left } = await aPlace((request, { api }) => {
      if (!isPost(request, "sandboxclaims")) return undefined;
      return silence.then(() => api.send(request)).finally(() => isMade = true);
    });
    await cluster.apply(POOL);
    await cluster.settle();
    const pass = holdTimers();
    const creating = failureOf(client.create({ pool: "python", name: "late", signal: stop.signal }));
    await immediate();
    stop.abort(new Error("enough"));
    pass(5000);
    const error = await creating;
    expect(error).toMatchObject({
      name: "SandboxError",
      cause: stop.signal.reason,
      leftover: [{ kind: "SandboxClaim", namespace: "default", name: "late" }],
    });
    expect(error.message).toBe(
      "enough. SandboxClaim default/late may still exist (the API server has not answered). " +
        "To delete: kubectl delete -n default sandboxclaim/late",
    );
    answer();
    await until(() => isMade);
    await until(() => !left().includes("late"));
  });
});

describe("what could not be deleted is named", () => {
  const isDelete = ({ method }: ApiRequest) => method === "DELETE";

  test("with the error of the creation: its class, reason and remedy, and the command", async () => {
    const { client, left } = await aPlace((request) => isDelete(request) ? NO_RIGHT : undefined);
    const error = await failureOf(client.create({ pool: "none", name: "mine" }));
    expect(error).toBeInstanceOf(TemplateError);
    expect(error).toMatchObject({
      reason: "WarmPoolNotFound",
      leftover: [{ kind: "SandboxClaim", namespace: "default", name: "mine" }],
    });
    const command = "SandboxClaim default/mine may still exist (Cannot delete claim default/mine: no right). " +
      "To delete: kubectl delete -n default sandboxclaim/mine";
    expect(error.message).toMatch(/^Cannot use claim default\/mine: .* does not exist/);
    expect([error.message.endsWith(` ${error.remedy}`), error.remedy?.endsWith(` ${command}`)]).toEqual([true, true]);
    expect(error.stack).toContain(command);
    expect(left()).toEqual(["mine"]);
  });

  test("with its pool, and the reason of the signal as the cause", async () => {
    const { client, cluster } = await aPlace((request) => isDelete(request) ? NO_RIGHT : undefined);
    cluster.pods.plan("*", { fault: "hangs" });
    const stop = new AbortController();
    const onProgress = () => stop.abort(new Error("enough"));
    const error = await failureOf(client.create({ template: "python", name: "mine", signal: stop.signal, onProgress }));
    expect(error).toMatchObject({ cause: stop.signal.reason, leftover: [{ name: "python-cold" }, { name: "mine" }] });
    expect(error.message).toContain("kubectl delete -n default sandboxwarmpool/python-cold sandboxclaim/mine");
  });

  test("an API server that does not answer any more", async () => {
    hurry(100);
    let isDown = false;
    const { client } = await aPlace((request) => {
      isDown ||= isPost(request, "sandboxes");
      if (isDown) throw new Error("socket hang up");
      return undefined;
    });
    const error = await failureOf(client.create({ image: "x", name: "mine" }));
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error.leftover).toEqual([{ kind: "Sandbox", namespace: "default", name: "mine" }]);
  });

  test("not an object that was created although the answer was a timeout, or came never: it is used", async () => {
    const answers: (Answer | Error)[] = [
      { status: 504, body: { message: "request did not complete within the allotted timeout" } },
      new Error("socket hang up"),
    ];
    for (const given of answers) {
      let times = 0;
      const { client, left } = await aPlace((request, { api }) => {
        if (!isPost(request, "sandboxes")) return undefined;
        times++;
        return api.send(request).then(() => given instanceof Error ? Promise.reject(given) : given);
      });
      await client.create({ image: "x", name: "mine" });
      expect([times, left()]).toEqual([1, ["mine"]]);
    }
    expect(new TimeoutError("a").leftover).toBeUndefined();
  });
});
