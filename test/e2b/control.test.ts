/** E2B's published SDK against the control API, on a cluster in memory. @module */
import { AuthenticationError, NotFoundError, Sandbox, SandboxError } from "e2b";
import { describe, expect, test } from "vitest";
import { PAUSED_AT_ANNOTATION } from "../../packages/api/e2b/objects.ts";
import { keyHash } from "../../packages/api/e2b/identity.ts";
import { eventually } from "../eventually.ts";
import { aKey, putKeys, startE2B } from "./api.ts";

test("creates, finds, lists, extends and kills a sandbox, which is a claim", async () => {
  const { options, cluster } = await startE2B();
  const sandbox = await Sandbox.create("base", { ...options, metadata: { "a b": "c&d=é+" }, timeoutMs: 60_000 });
  expect(sandbox.sandboxId).toMatch(/^[a-z][0-9a-z]{19}$/);
  const claim = await cluster.get("SandboxClaim", sandbox.sandboxId, "team-a");
  expect(claim?.metadata.labels).toMatchObject({ "e2b.agents.x-k8s.io/sandbox": "true" });
  const info = await Sandbox.getInfo(sandbox.sandboxId, options);
  expect(info).toMatchObject({ templateId: "python", name: "base", state: "running", cpuCount: 2, memoryMB: 1024 });
  expect(info.metadata).toEqual({ "a b": "c&d=é+" });
  expect(info.endAt.getTime() - info.startedAt.getTime()).toBeLessThanOrEqual(61_000);
  const found = await Sandbox.list({ ...options, query: { metadata: { "a b": "c&d=é+" } } }).nextItems();
  expect(found.map(({ sandboxId }) => sandboxId)).toEqual([sandbox.sandboxId]);
  const none = await Sandbox.list({ ...options, query: { metadata: { "a b": "c" } } }).nextItems();
  expect(none).toEqual([]);
  await Sandbox.setTimeout(sandbox.sandboxId, 600_000, options);
  const later = await Sandbox.getInfo(sandbox.sandboxId, options);
  expect(later.endAt.getTime() - info.endAt.getTime()).toBeGreaterThan(500_000);
  expect(await Sandbox.kill(sandbox.sandboxId, options)).toBe(true);
  expect(await Sandbox.kill(sandbox.sandboxId, options)).toBe(false);
  await expect(Sandbox.getInfo(sandbox.sandboxId, options)).rejects.toThrow(NotFoundError);
});

test("connects to a running sandbox: its life is extended and never shortened", async () => {
  const { options } = await startE2B();
  const { sandboxId } = await Sandbox.create("base", { ...options, timeoutMs: 600_000 });
  const endOf = async () => (await Sandbox.getInfo(sandboxId, options)).endAt.getTime();
  const before = await endOf();
  const again = await Sandbox.connect(sandboxId, { ...options, timeoutMs: 60_000 });
  expect(again.sandboxId).toBe(sandboxId);
  expect(await endOf()).toBe(before);
  await Sandbox.connect(`${sandboxId}-client`, { ...options, timeoutMs: 1_200_000 });
  expect(await endOf()).toBeGreaterThan(before + 500_000);
  await Sandbox.setTimeout(sandboxId, 30_000, options);
  expect(await endOf()).toBeLessThan(before);
});

test("lists page by page, by state and template", async () => {
  const { options, apiUrl, cluster } = await startE2B();
  const ids: string[] = [];
  for (let i = 0; i < 3; i++) ids.push((await Sandbox.create("base", options)).sandboxId);
  const pages = Sandbox.list({ ...options, limit: 2 });
  const seen: string[] = [];
  while (pages.hasNext) seen.push(...(await pages.nextItems()).map(({ sandboxId }) => sandboxId));
  expect(seen.sort()).toEqual(ids.sort());
  const ask = async (query: string) => {
    const answer = await fetch(`${apiUrl}/v2/sandboxes?${query}`, { headers: { "X-API-KEY": options.apiKey } });
    return {
      status: answer.status,
      next: answer.headers.get("X-Next-Token"),
      running: answer.headers.get("X-Total-Running"),
      body: await answer.json(),
    };
  };
  expect(await ask("template=nothing")).toMatchObject({ status: 200, next: null, running: "3", body: [] });
  expect((await ask("template=base&limit=3")).body).toHaveLength(3);
  expect(await ask("state=paused")).toMatchObject({ next: null, running: null, body: [] });
  for (
    const query of [
      "state=ended",
      "order=up",
      "limit=0",
      "template=base:v1",
      "nextToken=x",
      "startedAfter=today",
      "metadata=%25",
    ]
  ) {
    expect(await ask(query), query).toMatchObject({ status: 400, body: { code: 400 } });
  }
  const { next } = await ask("limit=2");
  expect(await ask(`limit=2&order=asc&nextToken=${next}`)).toMatchObject({ status: 400 });
  expect(cluster.faults()).toEqual([]);
});

describe("pause", () => {
  test("keeps the sandbox until it is killed; connect resumes it", async () => {
    const { options, cluster } = await startE2B();
    const { sandboxId } = await Sandbox.create("base", { ...options, timeoutMs: 60_000 });
    expect(await Sandbox.pause(sandboxId, options)).toBe(true);
    expect(await Sandbox.pause(sandboxId, options)).toBe(false);
    expect((await Sandbox.getInfo(sandboxId, options)).state).toBe("paused");
    await cluster.clock.advance(7_200_000);
    const [listed] = await Sandbox.list({ ...options, query: { state: ["paused"] } }).nextItems();
    expect(listed?.sandboxId).toBe(sandboxId);
    await Sandbox.connect(sandboxId, { ...options, timeoutMs: 120_000 });
    const resumed = await Sandbox.getInfo(sandboxId, options);
    expect(resumed.state).toBe("running");
    expect(Math.abs(resumed.endAt.getTime() - cluster.clock.now() - 120_000)).toBeLessThan(60_000);
    expect(await Sandbox.pause(sandboxId, options)).toBe(true);
    expect(await Sandbox.kill(sandboxId, options)).toBe(true);
    await expect(Sandbox.connect(sandboxId, options)).rejects.toThrow(/not found/);
  });

  test("is over at once if the client connects at once, before the claim's status shows it", async () => {
    const { options } = await startE2B();
    const { sandboxId } = await Sandbox.create("base", options);
    for (let i = 0; i < 3; i++) {
      expect(await Sandbox.pause(sandboxId, options)).toBe(true);
      await Sandbox.connect(sandboxId, options);
      expect((await Sandbox.getInfo(sandboxId, options)).state).toBe("running");
    }
  });

  test("is refused if the template has no volume: all files would be lost", async () => {
    const { options } = await startE2B();
    const { sandboxId } = await Sandbox.create("stateless", options);
    await expect(Sandbox.pause(sandboxId, options)).rejects.toThrow(/has no volume/);
    const asked = { ...options, lifecycle: { onTimeout: "pause" as const } };
    await expect(Sandbox.create("stateless", asked)).rejects.toThrow(/has no volume/);
  });

  test("happens at the timeout if the client asked for it", async () => {
    const { options, cluster } = await startE2B();
    const asked = { ...options, timeoutMs: 60_000, lifecycle: { onTimeout: "pause" as const } };
    const { sandboxId } = await Sandbox.create("base", asked);
    expect((await Sandbox.getInfo(sandboxId, options)).lifecycle?.onTimeout).toBe("pause");
    await cluster.clock.advance(30_000);
    expect((await Sandbox.getInfo(sandboxId, options)).state).toBe("running");
    await cluster.clock.advance(60_000);
    await eventually(async () => (await Sandbox.getInfo(sandboxId, options)).state).toBe("paused");
    const sandbox = await cluster.get("SandboxClaim", sandboxId, "team-a");
    const name = (sandbox as { status?: { sandbox?: { name: string } } }).status?.sandbox?.name ?? "";
    const modeOf = async () =>
      ((await cluster.get("Sandbox", name, "team-a")) as { spec?: { operatingMode?: string } }).spec?.operatingMode;
    await eventually(modeOf).toBe("Suspended");
    // A pause survives a resume.
    await Sandbox.connect(sandboxId, { ...options, timeoutMs: 60_000 });
    await cluster.clock.advance(90_000);
    await eventually(async () => (await Sandbox.getInfo(sandboxId, options)).state).toBe("paused");
  });

  test("holds at the timeout although code in the sandbox has made its Pod unready", async () => {
    const { options, cluster } = await startE2B();
    const asked = { ...options, timeoutMs: 60_000, lifecycle: { onTimeout: "pause" as const } };
    const { sandboxId } = await Sandbox.create("base", asked);
    const claim = await cluster.get("SandboxClaim", sandboxId, "team-a") as { status?: { sandbox?: { name: string } } };
    const name = claim.status?.sandbox?.name ?? "";
    await cluster.pods.fail(name, "probe");
    await cluster.clock.advance(120_000);
    await eventually(async () =>
      ((await cluster.get("Sandbox", name, "team-a")) as { spec?: { operatingMode?: string } }).spec?.operatingMode
    ).toBe("Suspended");
  });

  test("that is over leaves the sandbox time to start, however short the client's timeout", async () => {
    const { options, cluster } = await startE2B();
    const { sandboxId } = await Sandbox.create("base", options);
    await Sandbox.pause(sandboxId, options);
    const before = cluster.clock.now();
    await Sandbox.connect(sandboxId, { ...options, timeoutMs: 1000 });
    const { state, endAt } = await Sandbox.getInfo(sandboxId, options);
    expect(state).toBe("running");
    expect(endAt.getTime() - before).toBeGreaterThan(50_000);
  });

  test("is completed if the server ended in the middle, and is over if somebody else resumes the Sandbox", async () => {
    const { options, cluster } = await startE2B();
    const { sandboxId } = await Sandbox.create("base", options);
    const claim = await cluster.get("SandboxClaim", sandboxId, "team-a") as { status?: { sandbox?: { name: string } } };
    const name = claim.status?.sandbox?.name ?? "";
    const modeOf = async () =>
      ((await cluster.get("Sandbox", name, "team-a")) as { spec?: { operatingMode?: string } }).spec?.operatingMode;
    const patch = (path: string, body: object) => cluster.api.send({ method: "PATCH", path, body });
    const paused = { metadata: { annotations: { [PAUSED_AT_ANNOTATION]: "2026-11-30T00:00:00.000Z" } } };
    const claims = "/apis/extensions.agents.x-k8s.io/v1beta1/namespaces/team-a/sandboxclaims";
    await patch(`${claims}/${sandboxId}`, paused);
    await eventually(modeOf).toBe("Suspended");
    const sandboxes = "/apis/agents.x-k8s.io/v1beta1/namespaces/team-a/sandboxes";
    await patch(`${sandboxes}/${name}`, { spec: { operatingMode: "Running" } });
    await eventually(async () => {
      await cluster.clock.advance(1000);
      return (await Sandbox.getInfo(sandboxId, options)).state;
    }).toBe("running");
    const left = (await Sandbox.getInfo(sandboxId, options)).endAt.getTime() - cluster.clock.now();
    expect(left).toBeGreaterThan(200_000);
    expect(left).toBeLessThan(310_000);
  });
});

describe("a key", () => {
  test("has the rights that it was given", async () => {
    const { cluster, options } = await startE2B();
    const path = "/api/v1/namespaces/team-b/secrets/hookbox-e2b-keys";
    await cluster.api.send({ method: "DELETE", path });
    await putKeys(cluster, "team-b", {
      reader: ["read"],
      user: ["read", "connect"],
      main: ["create", "connect", "read"],
    });
    const as = (name: string) => ({ ...options, apiKey: aKey("team-b", name) });
    await eventually(() => Sandbox.list(as("reader")).nextItems()).toEqual([]);
    await expect(Sandbox.create("base", as("reader"))).rejects.toThrow(/API key "reader" may not create/);
    const { sandboxId } = await Sandbox.create("base", as("main"));
    await expect(Sandbox.connect(sandboxId, as("reader"))).rejects.toThrow(/may not connect/);
    expect((await Sandbox.connect(sandboxId, as("user"))).sandboxId).toBe(sandboxId);
    await expect(Sandbox.kill(sandboxId, as("user"))).rejects.toThrow(/may not create/);
    const info = await fetch(`${options.apiUrl}/sandboxes/${sandboxId}`, {
      headers: { "X-API-KEY": aKey("team-b", "reader") },
    });
    expect(await info.json()).not.toHaveProperty("envdAccessToken");
  });

  test("that is revoked admits nobody any more, and the time of its use is stored", async () => {
    const { cluster, options } = await startE2B();
    await Sandbox.list(options).nextItems();
    const path = "/api/v1/namespaces/team-a/secrets/hookbox-e2b-keys";
    const entry = async () => {
      const { body } = await cluster.api.send({ method: "GET", path });
      return JSON.parse(atob((body as { data: Record<string, string> }).data["main"] ?? ""));
    };
    await eventually(async () => String((await entry()).lastUsedAt)).toMatch(/^20\d\d-/);
    await cluster.api.send({ method: "PATCH", path, body: { data: { main: null } } });
    const listing = () => Sandbox.list(options).nextItems().then(() => undefined, (error: unknown) => error);
    await eventually(async () => await listing() instanceof AuthenticationError).toBe(true);
  });

  test("that was rotated is replaced by another, and works until its end", async () => {
    const { cluster, options } = await startE2B();
    const path = "/api/v1/namespaces/team-a/secrets/hookbox-e2b-keys";
    const entry = async () => {
      const { body } = await cluster.api.send({ method: "GET", path });
      return JSON.parse(atob((body as { data: Record<string, string> }).data["main"] ?? ""));
    };
    const { sha256, ...rest } = await entry();
    const until = new Date(cluster.clock.now() + 60_000).toISOString();
    const next = aKey("team-a", "next");
    const rotated = { ...rest, sha256: keyHash(next), replaced: { sha256, until } };
    const data = { main: btoa(JSON.stringify(rotated)) };
    await cluster.api.send({ method: "PATCH", path, body: { data } });
    const listing = (apiKey: string) =>
      Sandbox.list({ ...options, apiKey }).nextItems().then(() => "listed", (error: Error) => error.name);
    await eventually(() => listing(next)).toBe("listed");
    expect(await listing(options.apiKey)).toBe("listed");
    const uses = async () => {
      // A use is not stored if another one is stored at the same time.
      for (const apiKey of [next, options.apiKey]) await listing(apiKey);
      const { lastUsedAt, replaced } = await entry();
      return [lastUsedAt, replaced.lastUsedAt].map((time) => typeof time);
    };
    await eventually(uses).toEqual(["string", "string"]);
    await cluster.clock.advance(61_000);
    expect(await listing(options.apiKey)).toBe("AuthenticationError");
    expect(await listing(next)).toBe("listed");
  });
});

describe("a creation", () => {
  test.each([
    [{ templateID: "nothing" }, 404, /"nothing" was not found/],
    [{ templateID: "team-b/base" }, 404, /was not found/],
    [{ templateID: "base:v2" }, 404, /was not found/],
    [{}, 400, /templateID/],
    [{ templateID: "base", timeout: 0 }, 400, /timeout must be above 0/],
    [{ templateID: "base", timeout: 90_000 }, 400, /timeout must be at most 86400 s/],
    [{ templateID: "base", volumeMounts: [{ name: "a", path: "/b" }] }, 400, /volumeMounts is not supported/],
    [{ templateID: "base", mcp: {} }, 400, /mcp is not supported/],
    [{ templateID: "base", surprise: 1 }, 400, /surprise is not supported/],
    [{ templateID: "base", envVars: { "a=b": "" } }, 400, /envVars has a name/],
    [{ templateID: "base", envVars: { A: "a\0b" } }, 400, /envVars has a value with a NUL byte/],
    [{ templateID: "base", autoResume: { enabled: true, surprise: 1 } }, 400, /autoResume\.surprise is not supported/],
  ])("%j is refused with %i", async (body, status, message) => {
    const { apiUrl, options, cluster } = await startE2B();
    const answer = await fetch(`${apiUrl}/v2/sandboxes`, {
      method: "POST",
      headers: { "X-API-KEY": options.apiKey },
      body: JSON.stringify(body),
    });
    expect(answer.status).toBe(status);
    expect(await answer.json()).toEqual({ code: status, message: expect.stringMatching(message) });
    const { body: list } = await cluster.api.send({
      method: "GET",
      path: "/apis/extensions.agents.x-k8s.io/v1beta1/namespaces/team-a/sandboxclaims",
    });
    expect((list as { items: unknown[] }).items).toEqual([]);
  });

  test("with metadata of more than 64 KiB is refused", async () => {
    const { options } = await startE2B();
    const asked = Sandbox.create("base", { ...options, metadata: { a: "x".repeat(70_000) } });
    await expect(asked).rejects.toThrow(/metadata is larger than 64 KiB/);
  });

  test("of a template without a pool starts cold; older clients and older paths are served", async () => {
    const { apiUrl, options } = await startE2B();
    const send = async (body: object) => {
      const answer = await fetch(`${apiUrl}/sandboxes`, {
        method: "POST",
        headers: { "X-API-KEY": options.apiKey },
        body: JSON.stringify(body),
      });
      return { status: answer.status, body: await answer.json() as Record<string, unknown> };
    };
    const cli = { templateID: "stateless:default", timeout: 300, secure: true, allow_internet_access: true };
    expect(await send(cli)).toMatchObject({ status: 201, body: { templateID: "stateless", alias: "stateless" } });
    expect(await send({ templateID: "team-a/code-interpreter-v1" })).toMatchObject({ body: { templateID: "python" } });
  });

  test("with an Idempotency-Key happens once", async () => {
    const { apiUrl, options } = await startE2B();
    const send = async (key: string, body: object = { templateID: "base" }) => {
      const answer = await fetch(`${apiUrl}/v2/sandboxes`, {
        method: "POST",
        headers: { "X-API-KEY": options.apiKey, "Idempotency-Key": key },
        body: JSON.stringify(body),
      });
      return {
        status: answer.status,
        retry: answer.headers.get("Should-Retry"),
        body: await answer.json() as Record<string, unknown>,
      };
    };
    const [one, two] = await Promise.all([send("key-1"), send("key-1")]);
    expect([one?.status, two?.status]).toEqual([201, 201]);
    expect(one?.body["sandboxID"]).toBe(two?.body["sandboxID"]);
    expect((await send("key-2")).body["sandboxID"]).not.toBe(one?.body["sandboxID"]);
    expect(await send("key-1", { templateID: "base", timeout: 9 })).toMatchObject({ status: 422, body: { code: 422 } });
    expect(await send("KEY")).toMatchObject({ status: 400 });
    const closed = { templateID: "base", network: { allowPublicTraffic: false } };
    expect(await send("key-1", closed)).toMatchObject({ status: 422, body: { error_code: "idempotency_key_reused" } });
  });
});

test("says which templates exist, and refuses by a sentence what is not served", async () => {
  const { apiUrl, options } = await startE2B();
  const ask = async (method: string, path: string) => {
    const answer = await fetch(apiUrl + path, { method, headers: { "X-API-KEY": options.apiKey } });
    return { status: answer.status, body: await answer.json() as unknown };
  };
  expect(await ask("GET", "/templates")).toMatchObject({
    status: 200,
    body: [{ templateID: "python", aliases: ["base", "code-interpreter-v1"], cpuCount: 2, diskSizeMB: 2048 }, {
      templateID: "stateless",
    }],
  });
  expect(await ask("GET", "/templates/aliases/base")).toMatchObject({ status: 200, body: { templateID: "python" } });
  expect(await ask("GET", "/templates/aliases/team-a%2Fbase")).toMatchObject({ status: 200 });
  expect(await ask("GET", "/templates/aliases/%25")).toMatchObject({ status: 404, body: { code: 404 } });
  expect(await ask("GET", "/templates/aliases/nothing")).toMatchObject({ status: 404, body: { code: 404 } });
  for (
    const [method, path] of [["POST", "/v3/templates"], ["POST", "/volumes"], ["GET", "/snapshots"], [
      "GET",
      "/secrets",
    ]]
  ) {
    expect(await ask(method as string, path as string)).toMatchObject({ status: 501, body: { code: 501 } });
  }
  const { body } = await ask("DELETE", "/templates/tags");
  expect(body).toMatchObject({ message: expect.stringMatching(/^Tags of templates are not supported/) });
  expect(await ask("GET", "/nothing")).toMatchObject({ status: 404, body: { message: "There is no GET /nothing" } });
  const sandbox = await Sandbox.create("base", options);
  await expect(sandbox.createSnapshot()).rejects.toThrow(SandboxError);
});

test("counts requests by route, and refuses bodies of more than a megabyte", async () => {
  const { apiUrl, options, metrics } = await startE2B();
  const { sandboxId } = await Sandbox.create("base", options);
  await Sandbox.getInfo(sandboxId, options);
  await fetch(`${apiUrl}/${"x".repeat(50)}`);
  const headers = { "X-API-KEY": options.apiKey };
  const large = await fetch(`${apiUrl}/v2/sandboxes`, { method: "POST", headers, body: "x".repeat(1_100_000) });
  expect([large.status, await large.json()]).toEqual([413, { code: 413, message: "Body is too large" }]);
  const text = await metrics.text();
  const counted = text.split("\n").filter((line) => line.startsWith("hookbox_e2b_requests_total"));
  expect(counted.sort()).toEqual([
    'hookbox_e2b_requests_total{method="GET",route="/*",code="404"} 1',
    'hookbox_e2b_requests_total{method="GET",route="/sandboxes/:id",code="200"} 1',
    'hookbox_e2b_requests_total{method="POST",route="/v2/sandboxes",code="201"} 1',
    'hookbox_e2b_requests_total{method="POST",route="/v2/sandboxes",code="413"} 1',
  ]);
});
