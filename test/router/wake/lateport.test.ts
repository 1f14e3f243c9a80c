/** An app that begins to listen after its sandbox is Ready: the request that has woken the sandbox waits for it. */
import { createServer, type RequestListener } from "node:http";
import { describe, expect, onTestFinished, test } from "vitest";
import { freePorts } from "../../../dev/cluster/ports.ts";
import { WOKEN_AT_ANNOTATION } from "../../../packages/api/router/protocol.ts";
import { until } from "../../eventually.ts";
import { createFakeApi } from "../../kube/fakeapi.ts";
import { dial, fetchFrom, readUntil } from "../client.ts";
import { headOf } from "../rawbackend.ts";
import { naming, putPod, putReady, putSandbox, startRouter } from "../stage.ts";

/** A port on which nothing listens until `listen` is called. */
async function startLate(listener: RequestListener) {
  const [port = 0] = await freePorts(1);
  const server = createServer(listener);
  onTestFinished(() => void server.close());
  server.on("upgrade", (_, socket) => {
    // The router may have gone with the test before it has read all.
    socket.on("error", () => {});
    socket.end("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nup");
  });
  return { port, listen: () => new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve)) };
}

async function start(over: Parameters<typeof startRouter>[1] = {}) {
  const api = createFakeApi();
  putSandbox(api, "demo", { spec: { operatingMode: "Suspended" } });
  const stage = await startRouter(api, { upstreamMaxRetries: 1, ...over });
  const retries = async () =>
    Number(/^sandbox_router_upstream_retries_total\{.*\} (\d+)/m.exec(await stage.router.metrics.text())?.[1] ?? 0);
  const wakes = async () => {
    await until(() => api.requests.some(({ method }) => method === "PATCH"));
    putPod(api);
  };
  return { ...stage, wakes, hasRetried: (least: number) => until(async () => await retries() >= least) };
}

describe("a request for an app that listens later than its sandbox is Ready", () => {
  test("waits until it does, with its body, and so do those that come after it", async () => {
    const { port, wakes, hasRetried } = await start();
    const late = await startLate((incoming, answer) => incoming.pipe(answer));
    const first = fetchFrom(port, { method: "POST", headers: naming(late.port) }, "whole");
    await wakes();
    await hasRetried(4);
    const second = fetchFrom(port, { method: "POST", headers: naming(late.port) }, "too");
    const socket = await dial(port);
    socket.write(`GET / HTTP/1.1\r\nHost: localhost\r\n${headOf(late.port)}Connection: Upgrade\r\nUpgrade: x\r\n\r\n`);
    await hasRetried(16);
    await late.listen();
    expect(await first).toMatchObject({ status: 200, text: "whole" });
    expect(await second).toMatchObject({ status: 200, text: "too" });
    expect(await readUntil(socket, "up")).toContain("101 Switching Protocols");
  });

  test("waits where another router has woken it", async () => {
    const api = createFakeApi();
    putReady(api);
    putSandbox(api, "demo", { metadata: { annotations: { [WOKEN_AT_ANNOTATION]: new Date().toISOString() } } });
    const { port, router } = await startRouter(api, { upstreamMaxRetries: 1 });
    const late = await startLate((_, answer) => answer.end("app"));
    const reply = fetchFrom(port, { headers: naming(late.port) });
    await until(async () => /upstream_retries_total\{.*\} [4-9]/.test(await router.metrics.text()));
    await late.listen();
    expect(await reply).toMatchObject({ status: 200, text: "app" });
  });

  test("is a 502 once the time for a wake is over, and where nobody has woken it", async () => {
    const { port, wakes } = await start({ wakeTimeout: 400 });
    const late = await startLate(() => {});
    const reply = fetchFrom(port, { headers: naming(late.port) });
    await wakes();
    expect(await reply).toMatchObject({ status: 502, headers: { "x-sandbox-reason": "NotSent" } });
    const api = createFakeApi();
    putReady(api);
    const other = await startRouter(api, { upstreamMaxRetries: 1 });
    expect(await fetchFrom(other.port, { headers: naming((late as { port: number }).port) })).toMatchObject({
      status: 502,
    });
  });
});
