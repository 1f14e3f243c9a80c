/** Requests without a token, through the API server's port-forward: from loopback, if the router's Pod has nothing else in it. */
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createPortForwardCheck } from "../../../packages/router/access/portforward.ts";
import { createFakeApi, type FakeApi } from "../../kube/fakeapi.ts";
import { makeTempFolder } from "../../tempfolder.ts";
import { dial, exchange, fetchFrom, fetchHttp2, open } from "../client.ts";
import { naming, putReady, startBackend, startRouter } from "../stage.ts";

const SYSTEM = "agent-sandbox-system";
const OWN = `/api/v1/namespaces/${SYSTEM}/pods/router-1`;
const ownPod = { namespace: SYSTEM, name: "router-1", addresses: ["127.0.0.1", "10.9.9.9"] };
const ROUTER = { name: "router" };
const SECRET = "0123456789abcdef0123456789abcdef";

interface PodParts {
  annotations?: Record<string, string>;
  spec?: object;
  podIPs?: { ip: string }[];
}

function putOwn(api: FakeApi, { annotations = {}, spec = {}, podIPs = [{ ip: "10.9.9.9" }] }: PodParts = {}) {
  api.put(OWN, {
    ...{ apiVersion: "v1", kind: "Pod", metadata: { name: "router-1", namespace: SYSTEM, annotations } },
    ...{ spec: { containers: [ROUTER], ...spec }, status: { podIPs } },
  });
}

const tokenreview = {
  mode: "tokenreview" as const,
  authzTokenreviewTtl: 10,
  authzTokenreviewCacheSize: 10,
  authzTokenreviewAudiences: [],
  authzTokenreviewRequireToken: true,
};

type Over = NonNullable<Parameters<typeof startRouter>[1]>;

/** A router that believes to be the Pod `router-1`, and a sandbox whose answers say what they got. */
async function start(pod: PodParts | "none" = {}, over: Over = {}, h2c = false) {
  const api = createFakeApi();
  putReady(api);
  if (pod !== "none") putOwn(api, pod);
  const stage = await startRouter(api, { authz: tokenreview, ownPod, ...over }, h2c);
  const backend = await startBackend(({ headers }, answer) => void answer.end(headers.host));
  const ask = (headers: Record<string, string> = {}) =>
    fetchFrom(stage.port, { headers: { ...naming(backend.port), ...headers } });
  return { ...stage, ask, backend: backend.port };
}

function readsOf(api: FakeApi): number {
  return api.requests.filter(({ query }) => query?.["fieldSelector"] === "metadata.name=router-1").length;
}

/** What a router logs about its Pod at the first request. */
async function logOf(api: FakeApi): Promise<string> {
  const logged: unknown[] = [];
  const log = (...line: unknown[]) => void logged.push(line);
  const socket = { remoteAddress: "127.0.0.1", localAddress: "127.0.0.1" };
  const headers = { host: "localhost" };
  await createPortForwardCheck({ api, pod: ownPod, log })({ headers, socket } as never, "headers");
  return JSON.stringify(logged);
}

test("a request through port-forward needs no token, in every mode", async () => {
  const secretFile = join(makeTempFolder(), "secret");
  writeFileSync(secretFile, SECRET);
  for (const authz of [tokenreview, { mode: "scoped-token" as const, secretFile }]) {
    const { ask } = await start({}, { authz });
    expect(await ask(), authz.mode).toMatchObject({ status: 200 });
    expect(await ask({ "X-Sandbox-ID": "other" }), "what does not exist").toMatchObject({ status: 404 });
  }
});

test("HTTP/2 and WebSockets come through it, too", async () => {
  const { port, backend } = await start({}, {}, true);
  expect(await fetchHttp2(port, { ":path": "/", ...naming(backend) })).toMatchObject({ status: 200 });
  const socket = await dial(port);
  const head = Object.entries(naming(backend)).map(([name, value]) => `${name}: ${value}`).join("\r\n");
  socket.write(`GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${head}\r\n\r\n`);
  const [answer] = await once(socket, "data");
  expect(String(answer), "the sandbox declines to upgrade").toMatch(/^HTTP\/1.1 200 /);
});

test("a WebSocket of a page needs a token, and the answer says why", async () => {
  const { port, backend } = await start();
  const named = { ...naming(backend), Origin: "http://localhost:8080" };
  const head = Object.entries(named).map(([name, value]) => `${name}: ${value}\r\n`).join("");
  const answer = await exchange(
    port,
    `GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${head}\r\n`,
  );
  expect(answer).toMatch(/^HTTP\/1.1 401 [^]*"remedy":".*a browser sent the request/);
});

test("its name for limits and logs is port-forward", async () => {
  const { ask, lines, router } = await start();
  await ask();
  router.close();
  expect(lines.join("\n")).toContain('"client":"port-forward"');
});

test.for<[what: string, pod: PodParts | "none", reason: string, names?: string]>([
  ["no such Pod", "none", "the router cannot find its Pod", "agent-sandbox-system/router-1"],
  [
    "an injected proxy",
    { spec: { containers: [ROUTER, { name: "istio-proxy" }] } },
    "2 containers",
    "router, istio-proxy",
  ],
  [
    "a proxy that starts before it",
    { spec: { initContainers: [{ name: "linkerd-proxy", restartPolicy: "Always" }] } },
    "2 containers",
    "router, linkerd-proxy",
  ],
  [
    "a container for debugging",
    { spec: { ephemeralContainers: [{ name: "debugger" }] } },
    "2 containers",
    "router, debugger",
  ],
  ["the node's network", { spec: { hostNetwork: true } }, "uses the network of its node"],
  ["a mesh without sidecars", { annotations: { "ambient.istio.io/redirection": "enabled" } }, "ambient.istio.io/redir"],
  [
    "the address of another machine",
    { podIPs: [{ ip: "10.1.1.1" }] },
    "this process does not have the address of its Pod",
  ],
  ["no address yet", { podIPs: [] }, "this process does not have the address of its Pod"],
  ["no containers that can be read", { spec: { containers: "?" } }, "cannot find its Pod"],
])(
  "%s: a token is needed, and the answer says why, but only the log has names",
  async ([, pod, reason, names = ""]) => {
    const { ask, api } = await start(pod);
    const { status, text } = await ask();
    expect(status).toBe(401);
    expect(JSON.parse(text)).toEqual({
      detail: "Missing or invalid Authorization header.",
      remedy: expect.stringContaining(reason),
    });
    expect(text).not.toMatch(/istio-proxy|linkerd-proxy|debugger|router-1|agent-sandbox-system/);
    expect(await logOf(api)).toContain(names);
  },
);

test("an init container that has ended is no second container", async () => {
  const { ask } = await start({
    spec: { initContainers: [{ name: "wait" }, { name: "copy", restartPolicy: "Never" }] },
  });
  expect(await ask()).toMatchObject({ status: 200 });
});

test.for<[string, string, string]>([
  ["Origin", "http://localhost:8080", "a browser sent the request"],
  ["Origin", "null", "a browser sent the request"],
  ["Sec-Fetch-Site", "none", "a browser sent the request"],
  ["Sec-Fetch-Site", "same-origin", "a browser sent the request"],
  ["Referer", "http://localhost/", "a browser sent the request"],
  ["X-Forwarded-For", "127.0.0.1", "a proxy forwarded the request"],
  ["Forwarded", "for=127.0.0.1", "a proxy forwarded the request"],
  ["Via", "1.1 envoy", "a proxy forwarded the request"],
  ["X-Forwarded-Host", "example.com", "a proxy forwarded the request"],
  ["X-Real-IP", "10.1.1.1", "a proxy forwarded the request"],
  ["User-Agent", "Mozilla/5.0 (Macintosh) Version/16.3 Safari/605.1.15", "a browser sent the request"],
  // Browsers send no Sec-Fetch-Site to these hosts over plain HTTP, so a page of a sandbox could read other sandboxes.
  ["Host", "0.0.0.0:8080", "the Host of the request is not localhost"],
  ["Host", "192.168.1.5:8080", "the Host of the request is not localhost"],
  ["Host", "[::ffff:7f00:1]:8080", "the Host of the request is not localhost"],
  ["Host", "[fe80::1]", "the Host of the request is not localhost"],
  ["Host", "localhost.", "the Host of the request is not localhost"],
  ["Host", "localhost.evil.example", "the Host of the request is not localhost"],
  ["Host", "127.0.0.1.evil.example", "the Host of the request is not localhost"],
  ["Host", "evil.example:8080", "the Host of the request is not localhost"],
  ["Host", "evil.example@localhost", "the Host of the request is not localhost"],
])("a request with %s: %s needs a token", async ([name, value, reason]) => {
  const { ask, api } = await start();
  const { status, text } = await ask({ [name]: value });
  expect([status, JSON.parse(text).remedy]).toEqual([401, expect.stringContaining(reason)]);
  expect(readsOf(api)).toBe(0);
});

test.for(["localhost", "LOCALHOST:8080", "127.0.0.1:1", "127.8.8.8", "[::1]:8080"])(
  "Host %s is of this machine",
  async (Host) => {
    const { ask } = await start();
    expect(await ask({ Host })).toMatchObject({ status: 200 });
  },
);

test("a request without a host, and one of HTTP/2 for another, need a token", async () => {
  const { port, backend } = await start({}, {}, true);
  const head = Object.entries(naming(backend)).map(([name, value]) => `${name}: ${value}\r\n`).join("");
  expect(await exchange(port, `GET / HTTP/1.0\r\n${head}\r\n`)).toMatch(/^HTTP\/1.1 401 /);
  const foreign = { ":path": "/", ":authority": "evil.example", host: "localhost", ...naming(backend) };
  expect(await fetchHttp2(port, foreign)).toMatchObject({ status: 401 });
});

test("a URL that names the sandbox needs a token: a program may follow a link of somebody else", async () => {
  const { port, ask, backend } = await start({}, { pathRoutingPrefix: "/s", domain: "sandboxes.localhost" });
  const path = `/s/team-a/demo/${backend}/`;
  for (const headers of [{}, naming(backend), { Host: `${backend}-demo-team-a.sandboxes.localhost` }]) {
    const { status, text } = await fetchFrom(port, { path, headers });
    expect([status, JSON.parse(text).remedy]).toEqual([401, expect.stringContaining("by its URL")]);
  }
  expect(await ask(), "by headers").toMatchObject({ status: 200 });
});

test.for(["Bearer", "Bearer a b", "Basic YTpi", ""])(
  "an Authorization header that says %j counts as a token",
  async (Authorization) => {
    const { ask, api } = await start();
    expect(await ask({ Authorization })).toMatchObject({ status: 401 });
    expect(readsOf(api)).toBe(0);
  },
);

test("a token that is sent decides, and does not reach the sandbox", async () => {
  const { ask, api } = await start();
  api.intercept = ({ path }) =>
    path.endsWith("/tokenreviews") ? { status: 201, body: { status: { authenticated: false } } } : undefined;
  const { status, text } = await ask({ Authorization: "Bearer wrong" });
  expect([status, JSON.parse(text).detail]).toEqual([401, "Invalid token."]);
  expect(readsOf(api)).toBe(0);
});

test("the option turns it off, and so do a proxy on this machine and a process that is no Pod", async () => {
  const off: Over[] = [
    { trustPortForward: false },
    { trustedProxies: ["127.0.0.0/8"] },
    { trustedProxies: ["10.0.0.0/8", "127.0.0.6"] },
    { trustedProxies: ["::/0"] },
    { ownPod: undefined as never },
  ];
  for (const over of off) {
    const { ask, api } = await start({}, over);
    const { status, text } = await ask();
    expect([status, JSON.parse(text).remedy], JSON.stringify(over)).toEqual([
      401,
      expect.not.stringContaining("not enough"),
    ]);
    expect(readsOf(api)).toBe(0);
  }
});

test("an API server that does not answer is no refusal, lets nobody in, is asked once in 2 s, and only the log says why", async () => {
  const { ask, api } = await start();
  api.intercept = ({ query }) =>
    query?.["fieldSelector"] ? { status: 500, body: { message: "etcd-7 is down" } } : undefined;
  for (const _ of [1, 2, 3]) {
    const { status, text } = await ask();
    expect([status, JSON.parse(text).detail]).toEqual([503, expect.not.stringContaining("etcd-7")]);
  }
  expect(readsOf(api)).toBe(1);
  expect(await logOf(api)).toContain("etcd-7 is down");
});

test("the router looks again: a stream ends when its Pod gets a second container", async () => {
  const api = createFakeApi();
  putReady(api);
  putOwn(api);
  const { port } = await startRouter(api, { authz: tokenreview, ownPod, authzRecheckInterval: 30 });
  const backend = await startBackend((_, answer) => void answer.write("begun"));
  const answer = await open(port, { headers: naming(backend.port) });
  await once(answer, "data");
  putOwn(api, { spec: { ephemeralContainers: [{ name: "debugger" }] } });
  const [error] = await once(answer, "error");
  expect(error).toMatchObject({ code: "ECONNRESET" });
});

test("the Pod is read once for requests that come together, again after 2 s, and changes are logged once", async () => {
  const api = createFakeApi();
  putOwn(api);
  let time = 0;
  const logged: string[] = [];
  const log = (level: string, message: string) => void logged.push(`${level}: ${message}`);
  const check = createPortForwardCheck({ api, pod: ownPod, log, now: () => time });
  const socket = { remoteAddress: "::ffff:127.0.0.1", localAddress: "::ffff:127.0.0.1" };
  const ask = async (over: object = {}) =>
    await check({ headers: { host: "localhost" }, socket: { ...socket, ...over } } as never, "headers");
  expect(await Promise.all([ask(), ask()])).toEqual([{ isTrusted: true }, { isTrusted: true }]);
  time = 1999;
  expect([await ask(), readsOf(api)]).toEqual([{ isTrusted: true }, 1]);
  putOwn(api, { spec: { hostNetwork: true } });
  time = 2000;
  expect([await ask(), readsOf(api)]).toMatchObject([{ isTrusted: false }, 2]);
  time = 4000;
  expect(await ask()).toMatchObject({ isTrusted: false });
  expect(logged).toEqual([
    "info: Requests through kubectl port-forward need no token",
    "warn: Requests through kubectl port-forward need a token: the router's Pod uses the network of its node",
  ]);
  expect(await ask({ remoteAddress: "10.0.0.1" }), "another machine").toBe(undefined);
  expect(await ask({ localAddress: "10.9.9.9" }), "the Pod's own address").toBe(undefined);
});
