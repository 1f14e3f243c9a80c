/** A router with stale data reaches another Pod: the runtime refuses, and the router asks the API server. @module */
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { setImmediate } from "node:timers";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { nameHash } from "../../packages/api/objects/names.ts";
import type { WatchEvent } from "../../packages/kube/api.ts";
import { requestActivity } from "../../packages/router/idle/activity.ts";
import { readPod } from "../../packages/router/index/records.ts";
import { until } from "../eventually.ts";
import { createFakeApi } from "../kube/fakeapi.ts";
import { fetchFrom } from "../router/client.ts";
import { naming, PODS, putPod, putSandbox, startRouter, textOf } from "../router/stage.ts";
import { send, startTestRuntime } from "../runtime/servers.ts";
import { makeTempFolder } from "../tempfolder.ts";

const POD_UID = "X-Sandbox-Pod-UID";

/** A watch in which nothing ever comes. */
const silence: AsyncIterable<WatchEvent> = {
  [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }),
};

/** A runtime in the Pod `new`, and a router that has seen the Pod `old` at its address, and hears of nothing any more. */
async function start() {
  const root = makeTempFolder();
  const runtime = await startTestRuntime(root, "--pod-uid", "new");
  onTestFinished(() => runtime.stop());
  const api = createFakeApi();
  api.watch = () => Promise.resolve({ status: 200, body: null, events: silence });
  putSandbox(api);
  const labels = { "agents.x-k8s.io/sandbox-name-hash": nameHash("demo") };
  const put = (uid: string) => {
    api.remove(`${PODS}/demo`);
    putPod(api, "demo", { metadata: { uid, labels } });
  };
  put("old");
  const router = await startRouter(api);
  const lists = () => api.requests.filter(({ path, query }) => path === PODS && query?.["labelSelector"]).length;
  return { api, put, runtime, router, lists };
}

describe("a runtime that knows its Pod", () => {
  test.for(["port", "restPort", "grpcPort", "envdPort", "interpreterPort"] as const)(
    "refuses what is for another one, at %s",
    async (name) => {
      const runtime = await startTestRuntime(makeTempFolder(), "--pod-uid", "new");
      onTestFinished(() => runtime.stop());
      const ask = (headers: Record<string, string>) =>
        send(runtime[name] ?? 0, "POST", "/execute", { headers, body: "{}" });
      const refused = await ask({ [POD_UID]: "old" });
      expect(refused).toMatchObject({ status: 421, headers: { "x-sandbox-reason": "OtherPod" } });
      for (const headers of [{ [POD_UID]: "new" }, {}]) expect((await ask(headers)).status).not.toBe(421);
    },
  );

  test("refuses terminals, too", async () => {
    const runtime = await startTestRuntime(makeTempFolder(), "--pod-uid", "new");
    onTestFinished(() => runtime.stop());
    const socket = connect(runtime.restPort, "127.0.0.1");
    const upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" +
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    socket.write(`GET /v1/terminal HTTP/1.1\r\nHost: localhost\r\n${upgrade}${POD_UID}: old\r\n\r\n`);
    expect(await textOf(socket)).toMatch(/^HTTP\/1\.1 421 /);
  });

  test("refuses nothing where nobody has said which Pod it is", async () => {
    const runtime = await startTestRuntime(makeTempFolder(), "--pod-uid", "");
    onTestFinished(() => runtime.stop());
    expect((await send(runtime.restPort, "GET", "/v1/health", { headers: { [POD_UID]: "old" } })).status).toBe(200);
  });
});

describe("the router", () => {
  test("asks the API server where the Pod is, and sends the request once more", async () => {
    const { put, router, runtime, lists } = await start();
    put("new");
    expect(await fetchFrom(router.port, { path: "/v1/health", headers: naming(runtime.restPort) })).toMatchObject({
      status: 200,
    });
    expect(lists()).toBe(1);
    await fetchFrom(router.port, { path: "/v1/health", headers: naming(runtime.restPort) });
    expect(lists(), "now it knows").toBe(1);
  });

  test("waits where the sandbox has no Pod any more", async () => {
    const { api, router, runtime } = await start();
    api.remove(`${PODS}/demo`);
    const answer = fetchFrom(router.port, { path: "/v1/health", headers: naming(runtime.restPort) });
    await until(() => router.router.metrics.now.held === 1);
    const pod = putPod(api, "demo", { metadata: { uid: "new" } });
    router.router.index.pods.observe(readPod(pod, true)!);
    expect(await answer).toMatchObject({ status: 200 });
  });

  test("gives up where the API server knows no better, and says that nothing was carried out", async () => {
    const { router, runtime } = await start();
    const answer = await fetchFrom(router.port, { path: "/v1/health", headers: naming(runtime.restPort) });
    expect(answer).toMatchObject({ status: 502, headers: { "x-sandbox-reason": "NotSent" } });
    expect(answer.text).toContain("another Pod has its address by now");
  });

  test("sends no body twice: the answer says that nothing was carried out, and the next one gets through", async () => {
    const { put, router, runtime } = await start();
    put("new");
    const headers = { ...naming(runtime.port), "Content-Type": "application/json" };
    const run = () => fetchFrom(router.port, { method: "POST", path: "/execute", headers }, '{"command":"echo hello"}');
    expect(await run()).toMatchObject({ status: 502, headers: { "x-sandbox-reason": "NotSent" } });
    expect(await run()).toMatchObject({ status: 200 });
  });

  test("looks again for a connection of another protocol, too", async () => {
    const { put, router, runtime } = await start();
    put("new");
    const socket = connect(router.port, "127.0.0.1");
    const upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" +
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    const named = Object.entries(naming(runtime.restPort)).map(([name, value]) => `${name}: ${value}\r\n`).join("");
    socket.write(`GET /v1/terminal HTTP/1.1\r\nHost: localhost\r\n${named}${upgrade}\r\n`);
    const [head] = await new Promise<string[]>((resolve) => socket.once("data", (data) => resolve([String(data)])));
    socket.destroy();
    expect(head).toMatch(/^HTTP\/1\.1 101 /);
  });

  test("lets no client say which Pod it means, and believes no sandbox of another one's answer", async () => {
    const seen: unknown[] = [];
    const server = createServer((request, response) => {
      seen.push(request.headers["x-sandbox-pod-uid"]);
      response.writeHead(421).end("mine");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const { router, lists } = await start();
    const { port } = server.address() as AddressInfo;
    const answer = await fetchFrom(router.port, { headers: { ...naming(port), [POD_UID]: "x" } });
    expect([answer.status, answer.text, seen, lists()]).toEqual([421, "mine", ["old"], 0]);
  });

  test("takes no answer of another Pod's runtime for the sandbox's own: the sandbox may be busy", async () => {
    const runtime = await startTestRuntime(makeTempFolder(), "--pod-uid", "new");
    onTestFinished(() => runtime.stop());
    expect(await requestActivity("127.0.0.1", runtime.restPort, undefined, "old")).toBe("silent");
    expect(await requestActivity("127.0.0.1", runtime.restPort, undefined, "new")).toMatchObject({ reported: {} });
  });
});

test("a router that has not heard of the API server for longer than a restart of that takes is not ready", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const api = createFakeApi();
  putSandbox(api);
  const { router } = await startRouter(api);
  expect(router.isReady()).toBe(true);
  vi.advanceTimersByTime(179_000);
  expect(router.isReady(), "three minutes, unless told otherwise").toBe(true);
  vi.advanceTimersByTime(2000);
  expect(router.isReady()).toBe(false);
  putSandbox(api, "other");
  await new Promise((resolve) => setImmediate(resolve));
  expect(router.isReady(), "Pods may have moved, for all that it has heard").toBe(false);
  putPod(api, "other", { metadata: { labels: { "agents.x-k8s.io/sandbox-name-hash": "x" } } });
  await until(() => router.isReady());
  const { router: careless } = await startRouter(api, { staleAfter: 0 });
  vi.advanceTimersByTime(86_400_000);
  expect(careless.isReady()).toBe(true);
});
