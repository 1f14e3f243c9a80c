import { describe, expect, test } from "vitest";
import { createRequestStats } from "../../../packages/router/observe/metrics.ts";
import { createFakeApi } from "../../kube/fakeapi.ts";
import { dial, fetchFrom, open, readUntil } from "../client.ts";
import { naming, putPod, putReady, putSandbox, startBackend, startRouter } from "../stage.ts";
import { until, untilThere } from "../../eventually.ts";

async function start() {
  const api = createFakeApi();
  putReady(api);
  const stage = await startRouter(api);
  const count = async (name: string) => {
    const text = await stage.router.metrics.text();
    return Object.fromEntries(
      text.split("\n").flatMap((line) =>
        line.startsWith(name) ? [line.slice(name.length).split(" ") as [string, string]] : []
      ),
    );
  };
  return { ...stage, count };
}

describe("metrics and log", () => {
  test("tell of every request, however it ended", async () => {
    const { port, router, lines, count } = await start();
    const backend = await startBackend((incoming, answer) =>
      incoming.url === "/hang" ? answer.write("x") : answer.end("ok")
    );
    const upgrade = `GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: raw\r\n`;
    await fetchFrom(port, { path: "/a?token=secret", headers: naming(backend.port) });
    await fetchFrom(port, { headers: naming(backend.port, "nobody") });
    await fetchFrom(port, { path: "/a" });
    const stream = await open(port, { path: "/hang", headers: naming(backend.port) });
    expect(router.metrics.now.inflight).toBe(1);
    stream.on("error", () => {}).destroy();
    const socket = await dial(port);
    socket.write(`${upgrade}\r\n`);
    await readUntil(socket, "}");
    socket.destroy();
    await until(() => router.metrics.now.inflight === 0);
    expect(await count("sandbox_router_requests_total")).toEqual({
      '{method="GET",code="200",sandbox_namespace="team-a"}': "2",
      '{method="GET",code="404",sandbox_namespace=""}': "1",
      '{method="GET",code="400",sandbox_namespace=""}': "2",
    });
    expect(await count("sandbox_router_inflight_requests")).toEqual({ "": "0" });
    await untilThere(5, () => lines);
    const [first] = lines.map((line) => JSON.parse(line));
    expect(first).toMatchObject({
      message: "Request",
      method: "GET",
      path: "/a",
      status: 200,
      namespace: "team-a",
      name: "demo",
      port: backend.port,
      client: "address:127.0.0.1",
      http: "1.1",
      durationMs: expect.any(Number),
      traceId: expect.stringMatching(/^[0-9a-f]{32}$/),
    });
    expect(lines.join()).not.toContain("secret");
  });

  test("tell of wakes, waits, retries and what cannot be reached", async () => {
    const { port, api, count } = await start();
    putSandbox(api, "other", { spec: { operatingMode: "Suspended" } });
    const backend = await startBackend((_, answer) => answer.end("ok"));
    const reply = fetchFrom(port, { headers: naming(backend.port, "other") });
    await until(() => api.requests.some(({ method }) => method === "PATCH"));
    putPod(api, "other");
    expect((await reply).status).toBe(200);
    await new Promise((resolve) => backend.server.close(resolve).closeAllConnections());
    expect((await fetchFrom(port, { headers: naming(backend.port) })).status).toBe(502);
    expect(await count("sandbox_router_wakes_total")).toEqual({ '{sandbox_namespace="team-a"}': "1" });
    expect(await count("sandbox_router_hold_duration_seconds_count")).toEqual({ "": "1" });
    expect(await count("sandbox_router_upstream_retries_total")).toEqual({ '{sandbox_namespace="team-a"}': "3" });
    expect(await count("sandbox_router_upstream_errors_total")).toEqual({
      '{sandbox_namespace="team-a",reason="dial"}': "1",
    });
  });

  test("createRequestStats() makes no series of what clients and sandboxes think up", () => {
    const stats = createRequestStats();
    for (let i = 0; i < 3000; i++) stats.observe(`METHOD-${i}`, 600 + i, "n", 1);
    stats.observe("GET", 499, "n", 1);
    expect(stats.text().split("\n").filter((line) => line.startsWith("sandbox_router_requests_total"))).toEqual([
      'sandbox_router_requests_total{method="other",code="other",sandbox_namespace="n"} 3000',
      'sandbox_router_requests_total{method="GET",code="499",sandbox_namespace="n"} 1',
    ]);
  });

  test("createRequestStats() names the last trace of each bucket where traces are recorded, as OpenMetrics has it", () => {
    const observe = ({ observe }: ReturnType<typeof createRequestStats>) => {
      observe("GET", 200, "n", 0.003, "older");
      observe("GET", 200, "n", 0.004, "newer");
      observe("GET", 200, "n", 0.002);
      observe("GET", 200, "n", 500, "long");
    };
    const traced = createRequestStats(true);
    observe(traced);
    expect(traced.text().match(/# [{TH].*/g)).toEqual([
      expect.stringMatching(/^# HELP sandbox_router_requests Requests/),
      "# TYPE sandbox_router_requests counter",
      expect.stringMatching(/^# HELP sandbox_router_request_duration_seconds /),
      "# TYPE sandbox_router_request_duration_seconds histogram",
      expect.stringMatching(/^# \{trace_id="newer"\} 0\.004 \d+(\.\d+)?$/),
      expect.stringMatching(/^# \{trace_id="long"\} 500 \d+(\.\d+)?$/),
    ]);
    const quiet = createRequestStats();
    observe(quiet);
    expect(quiet.text()).not.toContain("trace_id");
    expect(quiet.text()).toContain("# TYPE sandbox_router_requests_total counter");
  });

  test("createRequestStats() counts in buckets that add up", () => {
    const stats = createRequestStats();
    for (const seconds of [0.001, 0.005, 0.03, 500]) stats.observe("GET", 200, "n", seconds);
    const lines = stats.text().split("\n").filter((line) => /le="(0.005|0.01|0.05|180|\+Inf)"|_sum|_count/.test(line));
    expect(lines.map((line) => line.replace(/^sandbox_router_\w+\{.*?(?:le=|sandbox_namespace=(?="n"\}))/, "")))
      .toEqual([
        '"0.005"} 2',
        '"0.01"} 2',
        '"0.05"} 3',
        '"180"} 3',
        '"+Inf"} 4',
        '"n"} 500.036',
        '"n"} 4',
      ]);
  });
});
