/** What connections and requests of one client, or of one namespace, may take of a router. @module */
import { once } from "node:events";
import { Agent } from "node:http";
import { connect, type Socket } from "node:net";
import { connect as connectTLS } from "node:tls";
import { expect, onTestFinished, test } from "vitest";
import { listen } from "../../packages/router/server.ts";
import { until, untilThere } from "../eventually.ts";
import { createFakeApi } from "../kube/fakeapi.ts";
import { makeCertificate } from "./certificate.ts";
import { fetchFrom, openSession } from "./client.ts";
import { headOf, OK, startRaw } from "./rawbackend.ts";
import { naming, putReady, SANDBOXES, startBackend, startRouter } from "./stage.ts";

const GET = (port: number) => `GET / HTTP/1.1\r\nHost: localhost\r\n${headOf(port)}\r\n`;

async function aRouter(over: object = {}) {
  const api = createFakeApi();
  putReady(api);
  return await startRouter(api, over);
}

test.for(["plain", "h2c", "TLS"])("of connections that ask for nothing the oldest ends: %s", async (kind) => {
  const { router } = await aRouter();
  const tls = kind === "TLS" ? { tls: makeCertificate() } : {};
  const options = { host: "127.0.0.1", port: 0, graceMs: 0, h2c: kind === "h2c", mostWaiting: 3, ...tls };
  const server = await listen(router.handler, options);
  onTestFinished(() => server.stop());
  const backend = await startBackend((_, answer) => void answer.write("begun"));
  const open = async (begin: string): Promise<Socket> => {
    const to = { port: server.port, host: "127.0.0.1" };
    const socket = kind === "TLS" ? connectTLS({ ...to, rejectUnauthorized: false }) : connect(to);
    onTestFinished(() => void socket.destroy());
    socket.on("error", () => {});
    await once(socket, kind === "TLS" ? "secureConnect" : "connect");
    socket.write(begin);
    return socket;
  };
  const busy = await open(GET(backend.port));
  await once(busy, "data");
  const oldest = await open("GET / HTTP/1.1\r\nX-Long: ");
  const ended = new Promise((resolve) => oldest.once("close", resolve));
  const others = [await open("GET / HTTP/1.1\r\n"), await open("GET /")];
  if (kind === "plain") others.push(await open(""));
  else others.push(await withSession(`${kind === "TLS" ? "https" : "http"}://127.0.0.1:${server.port}`, others[0]!));
  await ended;
  expect([busy, ...others].map(({ closed }) => closed)).toEqual([false, false, false, false]);
});

/** A session of HTTP/2 waits as a connection does; answers with something that is open. */
async function withSession(url: string, open: Socket): Promise<Socket> {
  const session = openSession(url);
  await once(session, "remoteSettings");
  expect(session.closed).toBe(false);
  return open;
}

test("requests that come without an end on one connection end it; a few in a row are answered in order", async () => {
  const { port, router } = await aRouter();
  const silent = await startRaw(() => {});
  const open = () => {
    const socket = connect(port, "127.0.0.1").on("error", () => {});
    onTestFinished(() => void socket.destroy());
    return socket;
  };
  const full = open();
  full.write(GET(silent.port).repeat(32));
  await until(() => silent.requests >= 32);
  full.write(GET(silent.port));
  await until(() => full.closed || silent.requests > 32);
  expect(silent.requests).toBe(32);
  const endless = open();
  endless.write(GET(silent.port).repeat(2000));
  await until(() => endless.closed || silent.requests > 70);
  expect(silent.requests).toBeLessThan(70);
  await until(() => router.metrics.now.inflight === 0);
  const quick = await startRaw((raw) => void raw.write(OK));
  const patient = open();
  let text = "";
  patient.on("data", (data) => text += data);
  patient.write(GET(quick.port).repeat(20));
  await untilThere(20, () => text.split("HTTP/1.1 200 OK").slice(1));
});

test("requests under way of one namespace leave room for those of others", async () => {
  const { api, port, router } = await aRouter({ maxOpenRequests: 4 });
  api.put(`${SANDBOXES.replace("team-a", "team-b")}/demo`, { metadata: { name: "demo", namespace: "team-b" } });
  const backend = await startBackend((_, answer) => void answer.write("begun"));
  const ask = (namespace: string) => {
    const gone = new AbortController();
    onTestFinished(() => gone.abort());
    const headers = { ...naming(backend.port), "X-Sandbox-Namespace": namespace };
    return fetch(`http://127.0.0.1:${port}/`, { headers, signal: gone.signal });
  };
  const open = [await ask("team-a"), await ask("team-a")];
  expect(open.map(({ status }) => status)).toEqual([200, 200]);
  const refused = await ask("team-a");
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "1"]);
  expect(await refused.text()).toContain(
    "2 requests are under way to sandboxes of namespace team-a already, 2 in all.",
  );
  expect((await fetchFrom(port, { headers: { ...naming(1), "X-Sandbox-Namespace": "team-b" } })).status).not.toBe(503);
  await Promise.all(open.map(({ body }) => body?.cancel()));
  await until(() => router.metrics.now.inflight === 0);
  expect((await ask("team-a")).status).toBe(200);
});

test("a connection stays longer than load balancers keep theirs", async () => {
  const { port } = await startRouter();
  const agent = new Agent({ keepAlive: true });
  onTestFinished(() => agent.destroy());
  const { headers } = await fetchFrom(port, { path: "/healthz", agent });
  // Google Cloud's keep them for 600 s.
  expect(headers["keep-alive"]).toBe("timeout=620");
});
