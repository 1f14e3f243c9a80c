import { request as httpRequest } from "node:http";
import { describe, expect, test } from "vitest";
import { createFakeApi, type FakeApi, refusal } from "../../kube/fakeapi.ts";
import { dial, fetchFrom, readUntil } from "../client.ts";
import { naming, PODS, putPod, putSandbox, SANDBOXES, startBackend, startRouter } from "../stage.ts";
import { until, untilThere } from "../../eventually.ts";

const suspended = { operatingMode: "Suspended" };
const patches = (api: FakeApi) => api.requests.filter(({ method }) => method === "PATCH");
const condition = (type: string, status: string, reason: string, message: string, observedGeneration = 1) => ({
  type,
  status,
  reason,
  message,
  observedGeneration,
  lastTransitionTime: "2026-11-21T12:00:00Z",
});

/** Plays the controller: once a Sandbox is to run, its Pod is Ready after `ms`. Returns what is woken, as it happens. */
function resumeAfter(api: FakeApi, ms: number): string[] {
  const woken: string[] = [];
  const before = api.send;
  api.send = async (request) => {
    const answer = await before(request);
    const name = request.path.split("/").at(-1) ?? "";
    if (request.method !== "PATCH" || answer.status !== 200) return answer;
    woken.push(name);
    setTimeout(() => putPod(api, name), ms);
    return answer;
  };
  return woken;
}

async function startEcho() {
  return await startBackend((incoming, answer) => void incoming.pipe(answer));
}

describe("a request for a suspended sandbox", () => {
  test("wakes it once, waits, and goes through byte for byte", async () => {
    const api = createFakeApi();
    putSandbox(api, "demo", { spec: suspended });
    resumeAfter(api, 60);
    const [{ port }, echo] = [await startRouter(api), await startEcho()];
    const reply = await fetchFrom(port, { method: "POST", headers: naming(echo.port) }, "the body");
    expect(reply).toMatchObject({ status: 200, text: "the body" });
    expect(reply.headers["server-timing"]).toMatch(/^wake;dur=[\d.]+, resuming;dur=[\d.]+, hold;dur=[\d.]+$/);
    expect(patches(api)).toHaveLength(1);
    expect(api.get(`${SANDBOXES}/demo`)).toMatchObject({
      spec: { operatingMode: "Running" },
      metadata: { annotations: { "router.agents.x-k8s.io/woken-at": expect.any(String) } },
    });
    expect((await fetchFrom(port, { headers: naming(echo.port) })).headers).not.toHaveProperty("server-timing");
  });

  test("1,000 at once for 100 sandboxes through two routers: 100 wakes, and every body its own", async () => {
    const api = createFakeApi();
    const names = Array.from({ length: 100 }, (_, i) => `sandbox-${i}`);
    names.forEach((name) => putSandbox(api, name, { spec: suspended }));
    const woken = resumeAfter(api, 50);
    const routers = [await startRouter(api), await startRouter(api)];
    const echo = await startEcho();
    const asked = Array.from({ length: 1000 }, async (_, i) => {
      const headers = naming(echo.port, names[i % 100]);
      return await fetchFrom(routers[i % 2]?.port ?? 0, { method: "POST", headers }, `body ${i} ${"x".repeat(i)}`);
    });
    const replies = await Promise.all(asked);
    expect(replies.filter(({ status, text }, i) => status !== 200 || text !== `body ${i} ${"x".repeat(i)}`)).toEqual(
      [],
    );
    expect(woken.toSorted()).toEqual(names.toSorted());
  });

  test("gives way to who was first: no second write", async () => {
    const api = createFakeApi();
    putSandbox(api, "demo", { spec: suspended });
    const { port } = await startRouter(api);
    const echo = await startEcho();
    let conflicts = 0;
    api.intercept = ({ method }) => {
      if (method !== "PATCH" || conflicts++ > 0) return undefined;
      putSandbox(api, "demo", { spec: { operatingMode: "Running" } });
      setTimeout(() => putPod(api), 20);
      return undefined;
    };
    expect(await fetchFrom(port, { headers: naming(echo.port) })).toMatchObject({ status: 200 });
    expect(patches(api)).toHaveLength(1);
    expect(api.get(`${SANDBOXES}/demo`)?.metadata.annotations, "of the other's making").toBeUndefined();
  });

  test("tries again where the API server fails, and says what it refuses", async () => {
    const api = createFakeApi();
    putSandbox(api, "demo", { spec: suspended });
    putSandbox(api, "other", { spec: suspended });
    resumeAfter(api, 1);
    const { port } = await startRouter(api);
    const echo = await startEcho();
    let failures = 0;
    api.intercept = ({ method, path }) => {
      if (method !== "PATCH") return undefined;
      if (path.endsWith("other")) return refusal(403, "admission says no");
      if (failures++ === 0) throw new Error("connection reset");
      return failures === 2 ? refusal(503, "leader lost") : undefined;
    };
    expect(await fetchFrom(port, { headers: naming(echo.port) })).toMatchObject({ status: 200 });
    expect(await fetchFrom(port, { headers: naming(echo.port, "other") })).toMatchObject({
      status: 502,
      text: expect.stringContaining("the sandbox is suspended and cannot be woken: admission says no"),
    });
  });

  test("does not go to the Pod that is on its way out", async () => {
    const api = createFakeApi();
    putSandbox(api, "demo", { spec: suspended });
    putPod(api);
    const { port, router } = await startRouter(api);
    const echo = await startEcho();
    const reply = fetchFrom(port, { headers: naming(echo.port) });
    await untilThere(1, () => patches(api));
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(router.metrics.now.held, "the Pod is Ready, but not for long").toBe(1);
    api.remove(`${PODS}/demo`);
    putPod(api, "demo", { metadata: { uid: "second" } });
    expect(await reply).toMatchObject({ status: 200 });
  });

  test("wakes nothing that says no, and nothing at all where that is not wanted", async () => {
    const api = createFakeApi();
    putSandbox(api, "demo", { spec: suspended, metadata: { annotations: { "router.agents.x-k8s.io/wake": "false" } } });
    putSandbox(api, "other", { spec: suspended });
    const [some, none] = [await startRouter(api), await startRouter(api, { wake: false })];
    const ask = (port: number, name: string) => fetchFrom(port, { headers: naming(1, name) });
    const quietly = fetchFrom(some.port, { headers: { ...naming(1, "other"), "X-Sandbox-Wake": "false" } });
    for (const reply of [await ask(some.port, "demo"), await ask(none.port, "other"), await quietly]) {
      expect(reply).toMatchObject({
        status: 503,
        text: expect.stringContaining("is suspended, and requests do not wake it"),
      });
    }
    expect(patches(api)).toEqual([]);
  });

  test("has a limit for each namespace", async () => {
    const api = createFakeApi();
    for (const name of ["a", "b", "c"]) putSandbox(api, name, { spec: suspended });
    resumeAfter(api, 1);
    const { port } = await startRouter(api, { wakesPerMinute: 2 });
    const echo = await startEcho();
    const ask = (name: string) => fetchFrom(port, { headers: naming(echo.port, name) });
    expect((await ask("a")).status).toBe(200);
    expect((await ask("b")).status).toBe(200);
    expect(await ask("c")).toMatchObject({
      status: 429,
      headers: { "retry-after": expect.stringMatching(/^\d+$/) },
      text: expect.stringContaining("Namespace team-a has woken too many sandboxes"),
    });
    expect((await ask("a")).status).toBe(200);
    expect(patches(api)).toHaveLength(2);
  });
});

describe("a wait that comes to nothing", () => {
  test.for<[string, object, number, string]>([
    [
      "the spec is invalid",
      { status: { conditions: [condition("Ready", "False", "InvalidConfiguration", "bad spec", 9)] } },
      502,
      "bad spec",
    ],
    [
      "the Pod has failed",
      { status: { conditions: [condition("Ready", "False", "PodFailed", "Pod failed", 9)] } },
      502,
      "Pod failed",
    ],
    ["it is deleted", { metadata: { deletionTimestamp: "2026-11-21T12:00:00Z" } }, 404, "being deleted"],
    ["it expires", { spec: { shutdownTime: "2020-01-01T00:00:00Z" } }, 502, "expired"],
    ["it is suspended again", { spec: suspended }, 503, "suspended again"],
  ])("ends at once with the cause: %s", async ([, then, status, cause]) => {
    const api = createFakeApi();
    putSandbox(api, "demo", { spec: suspended });
    const { port } = await startRouter(api);
    const reply = fetchFrom(port, { headers: naming(1) });
    await untilThere(1, () => patches(api));
    putSandbox(api, "demo", then);
    expect(await reply).toMatchObject({ status, text: expect.stringContaining(cause) });
  });

  test("ends in time with what it waited for", async () => {
    const api = createFakeApi();
    const conditions = [condition("PodScheduled", "False", "Unschedulable", "0/3 nodes are available")];
    putSandbox(api, "demo", { status: { conditions } });
    putPod(api, "demo", { status: { conditions: [], podIPs: [] } });
    const { port } = await startRouter(api, { wakeTimeout: 50 });
    expect(await fetchFrom(port, { headers: naming(1) })).toMatchObject({
      status: 504,
      text: expect.stringContaining("demo: scheduling for 0.05 s: 0/3 nodes are available"),
    });
  });

  test("is given up when the client goes, and others are not made to wait without end", async () => {
    const api = createFakeApi();
    putSandbox(api);
    const { port, router } = await startRouter(api, { maxHeldRequests: 1 });
    const { now } = router.metrics;
    const outgoing = httpRequest({ host: "127.0.0.1", port, headers: naming(1), agent: false });
    outgoing.on("error", () => {}).end();
    await until(() => now.held === 1);
    expect(await fetchFrom(port, { headers: naming(1) })).toMatchObject({
      status: 503,
      headers: { "retry-after": "1" },
    });
    outgoing.destroy();
    await until(() => now.held === 0);
    const raw = await dial(port);
    const head = Object.entries(naming(1)).map(([name, value]) => `${name}: ${value}\r\n`).join("");
    raw.write(`GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: raw\r\n${head}\r\n`);
    await until(() => now.held === 1);
    raw.end();
    await until(() => now.held === 0);
    const echo = await startEcho();
    const reply = fetchFrom(port, { headers: naming(echo.port) });
    await until(() => now.held === 1);
    putPod(api);
    expect(await reply).toMatchObject({ status: 200 });
  });

  test("wakes for another protocol as well, with what came early", async () => {
    const api = createFakeApi();
    putSandbox(api, "demo", { spec: suspended });
    resumeAfter(api, 50);
    const { port } = await startRouter(api);
    const { port: target, server } = await startBackend((_, answer) => answer.end());
    server.on("upgrade", (_, socket) => {
      socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: raw\r\n\r\n");
      socket.on("error", () => {});
      socket.on("data", (chunk: Uint8Array) => socket.write(`you said ${chunk}`));
    });
    const socket = await dial(port);
    const head = Object.entries(naming(target)).map(([name, value]) => `${name}: ${value}\r\n`).join("");
    socket.write(`GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: raw\r\n${head}\r\n`);
    await new Promise((resolve) => setTimeout(resolve, 20));
    socket.write("early");
    expect(await readUntil(socket, "early")).toContain("101");
  });
});
