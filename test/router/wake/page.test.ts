import { request as httpRequest } from "node:http";
import { expect, test } from "vitest";
import { createFakeApi } from "../../kube/fakeapi.ts";
import { fetchFrom } from "../client.ts";
import { naming, putPod, putSandbox, SANDBOXES, startBackend, startRouter } from "../stage.ts";
import { until } from "../../eventually.ts";

const browser = (port: number) => ({ ...naming(port), Accept: "text/html,*/*;q=0.8", "Sec-Fetch-Mode": "navigate" });

test("a browser sees a page that tells the phase, and then the sandbox", async () => {
  const api = createFakeApi();
  putSandbox(api, "demo", { spec: { operatingMode: "Suspended" } });
  const { port } = await startRouter(api);
  const backend = await startBackend((_, answer) => answer.end("the sandbox's own page"));
  const poll = async () => {
    const headers = { ...browser(backend.port), "X-Sandbox-Wake-Poll": "1" };
    return JSON.parse((await fetchFrom(port, { headers })).text);
  };
  expect(await poll(), "looking wakes nothing").toMatchObject({ state: "waiting", phase: "suspended" });
  expect(api.requests.filter(({ method }) => method === "PATCH")).toEqual([]);
  const page = await fetchFrom(port, { headers: browser(backend.port) });
  expect(page).toMatchObject({
    status: 503,
    headers: { "content-type": "text/html; charset=utf-8", "cache-control": "no-store" },
  });
  expect(page.headers["content-security-policy"]).toMatch(/^default-src 'none'; script-src 'nonce-[^']+'/);
  expect(page.text).toContain("Sandbox <b>team-a/demo</b> is waking up.");
  expect(api.requests.filter(({ method }) => method === "PATCH"), "the page has woken it").toHaveLength(1);
  await until(() => api.watches > 0);
  expect(await poll()).toMatchObject({ state: "waiting", phase: "resuming" });
  putPod(api, "demo", { status: { conditions: [{ type: "PodScheduled", status: "True" }], podIPs: [] } });
  await until(async () => (await poll()).phase === "starting");
  putPod(api);
  await until(async () => (await poll()).state === "ready");
  expect(await fetchFrom(port, { headers: browser(backend.port) })).toMatchObject({
    status: 200,
    text: "the sandbox's own page",
  });
});

test("a browser that has its page keeps nobody else waiting, and what it has begun goes on", async () => {
  const api = createFakeApi();
  putSandbox(api, "demo", { spec: { operatingMode: "Suspended" } });
  const { port, router } = await startRouter(api, { maxHeldRequests: 2 });
  expect(await fetchFrom(port, { headers: browser(1) })).toMatchObject({
    status: 503,
    headers: { "retry-after": "2" },
  });
  await until(() => router.metrics.now.held === 0);
  expect(await fetchFrom(port, { headers: browser(1) }), "again").toMatchObject({ headers: { "retry-after": "2" } });
  expect(api.requests.filter(({ method }) => method === "PATCH")).toHaveLength(1);
});

test("a browser that goes away before it has a page has resumed the sandbox anyway", async () => {
  const api = createFakeApi();
  putSandbox(api, "demo", { spec: { operatingMode: "Suspended" } });
  const { port, router } = await startRouter(api);
  const gate = Promise.withResolvers<void>();
  const send = api.send;
  api.send = async (request) => {
    if (request.method === "PATCH") await gate.promise;
    return await send(request);
  };
  const asked = httpRequest({ host: "127.0.0.1", port, headers: browser(1), agent: false });
  asked.on("error", () => {}).end();
  await until(() => router.metrics.now.held === 1);
  asked.destroy();
  await until(() => router.metrics.now.inflight === 0);
  gate.resolve();
  await until(() => router.metrics.now.held === 0);
  expect(api.get(`${SANDBOXES}/demo`)).toMatchObject({ spec: { operatingMode: "Running" } });
});

test("a script in a page is no browser that wants to see something", async () => {
  const api = createFakeApi();
  putSandbox(api);
  const { port } = await startRouter(api, { wakeTimeout: 100 });
  const headers = { ...browser(1), "Sec-Fetch-Mode": "cors" };
  expect(await fetchFrom(port, { headers })).toMatchObject({ status: 504 });
});

test("a sandbox that cannot wake up is no page but the cause", async () => {
  const api = createFakeApi();
  putSandbox(api, "demo", { spec: { shutdownTime: "2020-01-01T00:00:00Z" } });
  const { port } = await startRouter(api);
  const reply = await fetchFrom(port, { headers: browser(1) });
  expect(reply).toMatchObject({ status: 502, text: expect.stringContaining("expired") });
});
