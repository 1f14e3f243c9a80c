import { describe, expect, onTestFinished, test, vi } from "vitest";
import { AnswerTooLong } from "../../../packages/kube/api.ts";
import { hurry } from "../../hurry.ts";
import { createFakeApi, refusal } from "../../kube/fakeapi.ts";
import { fetchFrom, open } from "../client.ts";
import { naming, PODS, putPod, putReady, putSandbox, SANDBOXES, startBackend, startRouter } from "../stage.ts";
import { until } from "../../eventually.ts";
import { key, ready, startIdlers, TARGET } from "./idlers.ts";

const LEASES = "/apis/coordination.k8s.io/v1/namespaces/team-a/leases";
describe("the idler", () => {
  test("suspends what nobody uses, and says why, when, and in an Event", async () => {
    const { api, make, mode, annotation, suspended } = await startIdlers();
    await make("a").checkAll();
    expect(mode()).toBe("Suspended");
    expect(suspended).toEqual(["Idle"]);
    expect(JSON.parse(annotation("suspended") ?? "")).toEqual({
      reason: "Idle",
      at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      note: expect.stringMatching(/^no traffic for \d+ s$/),
      uid: "uid-demo",
      generation: 2,
    });
    const event = api.requests.find(({ path }) => path.endsWith("/events"));
    expect(event).toMatchObject({
      path: "/apis/events.k8s.io/v1/namespaces/team-a/events",
      body: {
        reason: "SuspendedIdle",
        regarding: { kind: "Sandbox", name: "demo" },
        reportingController: "hookbox-router",
      },
    });
  });

  test("asks nobody about a Sandbox that does not ask for it", async () => {
    const { api, make, mode } = await startIdlers({ [key("idle-seconds")]: "" });
    await make("a").checkAll();
    expect(mode()).toBe("Running");
    expect(api.requests).toEqual([]);
  });

  test("leaves the members of a pool alone: they wait for somebody", async () => {
    const { api, make, mode } = await startIdlers();
    const labels = { "agents.x-k8s.io/warm-pool-sandbox": "x" };
    putSandbox(api, "demo", { metadata: { labels, annotations: { [key("idle-seconds")]: "60" } }, status: ready });
    await make("a").checkAll();
    expect(mode()).toBe("Running");
    expect(api.requests).toEqual([]);
  });

  test("leaves one that a user has just set to Running: its Pod is Ready before it is", async () => {
    const { api, make, mode } = await startIdlers();
    const status = { conditions: [{ ...ready.conditions[0], status: "False" }] };
    putSandbox(api, "demo", { metadata: { annotations: { [key("idle-seconds")]: "60" } }, status });
    await make("a").checkAll();
    expect(mode()).toBe("Running");
  });

  test("leaves one that is used, and annotates it for other routers", async () => {
    const { make, mode, annotation } = await startIdlers();
    const [a, b] = [make("a"), make("b")];
    a.traffic.begun(TARGET);
    await until(() => annotation("active-at") !== undefined);
    expect(annotation("active-at")).toMatch(/^\S+Z a$/);
    a.sync();
    b.sync();
    await a.checkAll();
    await b.checkAll();
    a.traffic.ended(TARGET);
    await a.checkAll();
    expect(mode()).toBe("Running");
  });

  test("does not suspend what another router has seen used since then", async () => {
    const { api, make, mode } = await startIdlers();
    const [a, b] = [make("a"), make("b")];
    b.traffic.begun(TARGET);
    await until(() => api.requests.some(({ method }) => method === "PATCH"));
    await a.checkAll();
    expect(mode(), "a does not know yet, but its patch does not fit").toBe("Running");
  });

  test("makes who comes at the last moment wait, and lets the sandbox be", async () => {
    const api = createFakeApi();
    putSandbox(api, "demo", { metadata: { annotations: { [key("idle-seconds")]: "1" } }, status: ready });
    putPod(api);
    const { port, router } = await startRouter(api, { runtimePort: 1, idleCheckInterval: 100 });
    const backend = await startBackend((_, answer) => answer.end("ok"));
    let release = () => {};
    const isAsked = new Promise<void>((asked) => {
      api.intercept = async ({ body }) => {
        if (!JSON.stringify(body ?? "").includes('"Suspended"')) return undefined;
        asked();
        return await new Promise<undefined>((resolve) => release = () => resolve(undefined));
      };
    });
    await isAsked;
    const reply = fetchFrom(port, { headers: naming(backend.port) });
    await until(() => router.metrics.now.held === 1);
    release();
    expect(await reply).toMatchObject({ status: 200, text: "ok" });
    expect(api.get(`${SANDBOXES}/demo`), "its word was there first").toMatchObject({
      spec: { operatingMode: "Running" },
    });
  });

  test("is kept from it by a Lease, as long as that is held", async () => {
    const { api, make, mode } = await startIdlers();
    const router = make("a");
    const lease = (spec: object) =>
      api.put(`${LEASES}/hold`, { metadata: { name: "hold", labels: { [key("holds")]: "demo" } }, spec });
    const renewTime = new Date().toISOString();
    lease({ holderIdentity: "ann", renewTime, leaseDurationSeconds: 60 });
    await router.checkAll();
    expect(mode()).toBe("Running");
    lease({ holderIdentity: "ann" });
    await router.checkAll();
    expect(mode()).toBe("Running");
    lease({ holderIdentity: "ann", renewTime: "2020-01-01T00:00:00Z", leaseDurationSeconds: 60 });
    await router.checkAll();
    expect(mode()).toBe("Suspended");
  });

  test("leaves it where the API server does not say whether it is held", async () => {
    const { api, make, mode } = await startIdlers();
    api.intercept = ({ path }) => path === LEASES ? refusal(403, "forbidden") : undefined;
    await make("a").checkAll();
    expect(mode(), "nor where so many Leases hold it that they would fill a router").toBe("Running");
    api.intercept = ({ path }) => path === LEASES ? Promise.reject(new AnswerTooLong(1)) : undefined;
    await make("a").checkAll();
    expect([mode(), api.requests.at(-1)?.mostBytes]).toEqual(["Running", 1 << 20]);
  });

  test("leaves a compiler at work without any traffic, until it may not any more", async () => {
    const said = { running: 1, terminals: 0, streams: 0, cpuSeconds: 5, idleSeconds: 9000 };
    const busy = await startIdlers({}, () => said);
    await busy.make("a").checkAll();
    expect(busy.mode()).toBe("Running");
    const capped = await startIdlers({ [key("max-active-seconds")]: "3600" }, () => said);
    await capped.make("a").checkAll();
    expect(capped.mode()).toBe("Suspended");
    expect(capped.suspended).toEqual(["MaxActive"]);
  });

  test("looks twice before it believes that nothing computes", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    onTestFinished(() => void vi.useRealTimers());
    let cpuSeconds = 5;
    const { make, mode } = await startIdlers({}, () => ({ running: 0, cpuSeconds }));
    const router = make("a");
    await router.checkAll();
    expect(mode()).toBe("Running");
    vi.advanceTimersByTime(1050);
    cpuSeconds += 5;
    await router.checkAll();
    expect(mode()).toBe("Running");
    vi.advanceTimersByTime(1050);
    await router.checkAll();
    expect(mode()).toBe("Suspended");
  });
});

test("the router as a whole: requests keep a sandbox up, silence suspends it, a request wakes it", async () => {
  hurry(10, ["Date", "performance"]);
  const api = createFakeApi();
  const now = new Date().toISOString();
  const conditions = [{ ...ready.conditions[0], lastTransitionTime: now }];
  const metadata = { annotations: { [key("idle-seconds")]: "1" } };
  putReady(api);
  putSandbox(api, "demo", { metadata, status: { conditions } });
  const { port } = await startRouter(api, { runtimePort: 1, idleCheckInterval: 100 });
  const backend = await startBackend((incoming, answer) =>
    incoming.url === "/stream" ? answer.write("x") : answer.end("ok")
  );
  const mode = () => (api.get(`${SANDBOXES}/demo`)?.["spec"] as { operatingMode: string }).operatingMode;
  const stream = await open(port, { path: "/stream", headers: naming(backend.port) });
  await new Promise((resolve) => setTimeout(resolve, 2500));
  expect(mode(), "a stream is open").toBe("Running");
  stream.on("error", () => {}).destroy();
  await until(() => mode() === "Suspended");
  api.remove(`${PODS}/demo`);
  const reply = fetchFrom(port, { headers: naming(backend.port) });
  await until(() => mode() === "Running");
  expect(api.get(`${SANDBOXES}/demo`)?.metadata.annotations).not.toHaveProperty(key("suspended"));
  putPod(api, "demo", { metadata: { uid: "second" } });
  expect(await reply).toMatchObject({ status: 200 });
});
