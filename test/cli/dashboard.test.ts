/** `hookbox dashboard`: whose token it uses, how it finds a router, and how it begins and ends. @module */
import { createServer } from "node:http";
import { connect } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { WebSocketServer } from "ws";
import type { ConnectionOptions } from "../../packages/cli/commandcontext.ts";
import { Interruption } from "../../packages/cli/failure.ts";
import { runCLI } from "../../packages/cli/program.ts";
import type { Api } from "../../packages/kube/api.ts";
import type { Pass } from "../../packages/kube/credentials.ts";
import { listenOn } from "../../packages/process/connections.ts";
import { until } from "../eventually.ts";
import { fetchFrom } from "../router/client.ts";
import { SANDBOXES, start as startRouter } from "../router/dashboard/stage.ts";
import { fakeApi, fakeContext, run, type Setting } from "./fakecontext.ts";

const API = `/.hookbox/api${SANDBOXES}`;

/** Runs the command until it has printed a URL; `end` is Ctrl-C. */
async function opened(line: string, setting: Setting) {
  const interrupt = new AbortController();
  onTestFinished(() => interrupt.abort(new Interruption()));
  const { context, written } = fakeContext({ signal: interrupt.signal, fetch, ...setting });
  const ended = runCLI(["dashboard", ...line.split(" ").filter(Boolean)], context);
  let isOver = false;
  ended.then(() => isOver = true);
  await until(() => isOver || written.stderr.includes("Ctrl-C"));
  const end = () => {
    interrupt.abort(new Interruption());
    return ended;
  };
  const url = new URL(written.stdout.trim() || "http://nowhere");
  const ask = async () => {
    const { headers, text } = await fetchFrom(Number(url.port), { path: url.pathname + url.search });
    const Cookie = headers["set-cookie"]?.[0]?.replace(/;.*/, "") ?? "";
    const path = (/replace\("(.*)\/\.hookbox\/"/.exec(text)?.[1] ?? "") + API;
    return () => fetchFrom(Number(url.port), { path, headers: { Cookie } });
  };
  return { url, written, end, ask };
}

/** A kubeconfig whose user has this. */
function clusterWith(pass: () => Pass, api: Api = fakeApi({})): Pick<Setting, "connectCluster"> {
  const credentials = { server: "http://nowhere", namespace: "team-a", current: () => Promise.resolve(pass()) };
  const read = () => Promise.reject(new Error("unused"));
  return {
    connectCluster: ({ namespace = "team-a" }: ConnectionOptions) =>
      Promise.resolve({ api, credentials, namespace, server: "http://nowhere", source: "the test", read }),
  };
}

test("the command prints its URL, opens it, and runs until Ctrl-C", async () => {
  const { port, asked } = await startRouter();
  const browse = vi.fn(() => Promise.resolve(true));
  const { url, written, end, ask } = await opened(`-n team-b --router http://127.0.0.1:${port}/ --token ada-1`, {
    browse,
  });
  expect(written.stdout).toMatch(
    /^http:\/\/127\.0\.0\.1:\d+\/\?key=[\w-]{43}#\/sandboxes\?namespace=team-b\n$/,
  );
  expect(browse).toHaveBeenCalledExactlyOnceWith(url.href);
  expect(written.stderr).toContain("You are ada. Ctrl-C ends it.");
  expect(await (await ask())()).toMatchObject({ status: 200 });
  expect(asked).toMatchObject([{ token: "ada-1" }]);
  expect(await end()).toBe(0);
  await expect(fetchFrom(Number(url.port), { path: "/" })).rejects.toThrow("ECONNREFUSED");
});

test("without --token, it is that of the kubeconfig's user, as it is at each request", async () => {
  const { port, asked } = await startRouter();
  let token = "bob-1";
  const setting = clusterWith(() => ({ headers: { authorization: `Bearer ${token}` }, tls: {} }));
  const { ask, written } = await opened(`--router http://127.0.0.1:${port}`, setting);
  expect(written.stderr).toContain("You are bob");
  expect(written.stdout).not.toContain("#");
  const send = await ask();
  await send();
  token = "bob-2";
  await send();
  expect(asked.map(({ token }) => token)).toEqual(["bob-1", "bob-2"]);
});

test("--service-account has tokens of an hour, and gets another one before an hour is over", async () => {
  const { port, asked } = await startRouter();
  let now = Date.parse("2026-11-21T12:00:00Z");
  let created = 0;
  const accounts = fakeApi({});
  const api: Api = {
    ...accounts,
    now: () => now,
    send: async (request) => {
      await accounts.send(request);
      const expirationTimestamp = new Date(now + 3_600_000).toISOString();
      return { status: 201, body: { status: { token: `viewer-${++created}`, expirationTimestamp } } };
    },
  };
  const { ask } = await opened(
    `-n team-b --router http://127.0.0.1:${port} --service-account viewer`,
    clusterWith(() => ({ headers: {}, tls: { cert: "x" } }), api),
  );
  const send = await ask();
  await send();
  now += 40 * 60_000;
  await send();
  now += 10 * 60_000;
  await send();
  expect(asked.map(({ token }) => token)).toEqual(["viewer-1", "viewer-1", "viewer-2"]);
  expect(accounts.requests[0]).toMatchObject({
    method: "POST",
    path: "/api/v1/namespaces/team-b/serviceaccounts/viewer/token",
    body: { kind: "TokenRequest", spec: { expirationSeconds: 3600 } },
  });
});

test("a certificate does not suffice: the error says why, and what to type", async () => {
  const setting = clusterWith(() => ({ headers: {}, tls: { cert: "x" } }));
  const { code, stderr } = await run("dashboard --router http://127.0.0.1:1", setting);
  expect(code).toBe(1);
  expect(stderr).toContain("has a client certificate, and the router can check only tokens");
  expect(stderr).toContain("kubectl create serviceaccount NAME -n team-a");
  expect(stderr).toContain("--clusterrole=hookbox-edit --serviceaccount=team-a:NAME");
  expect(stderr).toContain("kubectl create token NAME -n team-a");
});

test.for<{ name: string; line: string; says: RegExp; code?: number }>([
  { name: "two users", line: "--token a --service-account b", says: /name one user/, code: 2 },
  {
    name: "a path as an account",
    line: "--service-account ../../x",
    says: /takes the name of a ServiceAccount/,
    code: 2,
  },
  { name: "an account with its namespace", line: "--service-account a:b", says: /which -n names/, code: 2 },
  { name: "a port that is none", line: "--port 70000", says: /--port/, code: 2 },
  { name: "a router that is no URL", line: "--router x --token a", says: /not a URL of http/, code: 2 },
  { name: "a router that is not there", line: "--router http://127.0.0.1:1 --token a", says: /Cannot reach.*:1/ },
])("$name ends it with the reason", async ({ line, says, code = 1 }) => {
  const ran = await run(`dashboard ${line}`, { ...clusterWith(() => ({ headers: {}, tls: {} })), fetch });
  expect(ran).toMatchObject({ code, stderr: expect.stringMatching(says), stdout: "" });
});

test.for([
  { name: "an empty one", given: "", says: /--token: it is empty/ },
  { name: "one with a line break", given: "secret\nsecret", says: /--token: a token has no spaces, no line breaks/ },
  { name: "one with a space", given: "secret secret", says: /--token: a token has no spaces/ },
  { name: "one with other characters", given: "secr\u00e9t", says: /--token: .*only ASCII/ },
  { name: "one of $HOOKBOX_TOKEN", given: undefined, says: /HOOKBOX_TOKEN: a token has no spaces/ },
])("a token that cannot be one is refused before anything is sent: $name", async ({ given, says }) => {
  const ask = vi.fn(fetch);
  const setting = clusterWith(() => ({ headers: { authorization: "Bearer bob-1" }, tls: {} }));
  const { context, written } = fakeContext({ ...setting, fetch: ask, env: { HOOKBOX_TOKEN: "secret\n" } });
  const token = given === undefined ? [] : ["--token", given];
  expect(await runCLI(["dashboard", "--router", "http://127.0.0.1:1", ...token], context)).toBe(2);
  expect(written.stderr).toMatch(says);
  expect(written.stderr).not.toContain("secr");
  expect(ask).not.toHaveBeenCalled();
});

test("a token that is not accepted, a router without a dashboard, and a port in use end it with the reason", async () => {
  const { port } = await startRouter({ userOf: () => undefined });
  const refused = await run(`dashboard --router http://127.0.0.1:${port} --token a`, { fetch });
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringMatching(/does not accept the token/) });
  const without = createServer((_, response) => response.writeHead(404).end("{}"));
  const none = await listenOn(without, "127.0.0.1", 0);
  onTestFinished(() => void (without.closeAllConnections(), without.close()));
  const missing = await run(`dashboard --router http://127.0.0.1:${none} --token a`, { fetch });
  expect(missing).toMatchObject({ code: 1, stderr: expect.stringMatching(/has none.*HTTP 404.*\n.*--no-dashboard/) });
  const { port: good } = await startRouter();
  const taken = await run(`dashboard --router http://127.0.0.1:${good} --token a --port ${none}`, { fetch });
  expect(taken).toMatchObject({ code: 1, stderr: expect.stringMatching(/it is in use\n.*--port/) });
});

/** An API server that forwards ports of Pods. */
async function startForwarding(portOf: (pod: string) => number | undefined) {
  const server = createServer();
  const sockets = new WebSocketServer({ server, handleProtocols: () => "v4.channel.k8s.io" });
  const asked: string[] = [];
  sockets.on("connection", (socket, { url = "" }) => {
    const [, pod = "", port] = /\/pods\/([^/]+)\/portforward\?ports=(\d+)$/.exec(url) ?? [];
    asked.push(`${pod}:${port}`);
    const to = portOf(pod);
    if (to === undefined) return socket.close();
    const inside = connect(to, "127.0.0.1").on("error", () => socket.close()).on("close", () => socket.close());
    inside.on("data", (bytes) => socket.send(Uint8Array.of(0, ...bytes)));
    socket.on("message", (bytes: Uint8Array) => bytes[0] === 0 && inside.write(bytes.subarray(1)));
    socket.on("close", () => inside.destroy());
  });
  const port = await listenOn(server, "127.0.0.1", 0);
  onTestFinished(() => {
    for (const socket of sockets.clients) socket.terminate();
    server.close();
  });
  return { server: `http://127.0.0.1:${port}`, asked };
}

function aRouterPod(name: string, { isReady = true, port = 8080, metadata = {} } = {}) {
  return {
    metadata: { name, namespace: "agent-sandbox-system", uid: name, ...metadata },
    spec: { containers: [{ ports: [{ name: "health", containerPort: 8081 }, { name: "http", containerPort: port }] }] },
    status: { conditions: [{ type: "Ready", status: isReady ? "True" : "False" }] },
  };
}

test("without --router, it forwards a port of a Ready router's Pod, and of another one when that is gone", async () => {
  const { port, asked } = await startRouter();
  const gone = new Set<string>();
  const forwarding = await startForwarding((pod) => gone.has(pod) ? undefined : port);
  let pods = [
    aRouterPod("starting", { isReady: false }),
    aRouterPod("leaving", { metadata: { deletionTimestamp: "2026-11-21T12:00:00Z" } }),
    aRouterPod("first", { port: 9000 }),
    aRouterPod("second"),
  ];
  const accounts = fakeApi({});
  const api: Api = {
    ...accounts,
    send: (request) =>
      request.path === "/api/v1/pods"
        ? Promise.resolve({ status: 403, body: { message: "forbidden" } })
        : accounts.send(request).then(() => ({ status: 200, body: { items: pods } })),
  };
  const setting = clusterWith(() => ({ headers: { Authorization: "Bearer ada-1" }, tls: {} }), api);
  const connectCluster: Setting["connectCluster"] = async (where) => {
    const cluster = await setting.connectCluster!(where);
    return { ...cluster, credentials: { ...cluster.credentials, server: forwarding.server } };
  };
  const { ask } = await opened("", { connectCluster });
  const send = await ask();
  expect(await send()).toMatchObject({ status: 200 });
  expect(new Set(forwarding.asked)).toEqual(new Set(["first:9000"]));
  expect(accounts.requests[0]).toMatchObject({
    path: "/api/v1/namespaces/agent-sandbox-system/pods",
    query: { labelSelector: "app.kubernetes.io/name=sandbox-router" },
  });
  gone.add("first");
  pods = pods.slice(3);
  const clock = performance.now.bind(performance);
  vi.spyOn(performance, "now").mockImplementation(() => clock() + 5000);
  onTestFinished(() => void vi.restoreAllMocks());
  expect(await send()).toMatchObject({ status: 200 });
  expect(forwarding.asked.at(-1)).toBe("second:8080");
  expect(asked).toHaveLength(2);
});

test("without a Ready router, it says so", async () => {
  const api = fakeApi({ "GET /api/v1/pods": { items: [aRouterPod("starting", { isReady: false })] } });
  const { code, stderr } = await run("dashboard --token a", clusterWith(() => ({ headers: {}, tls: {} }), api));
  expect(code).toBe(1);
  expect(stderr).toMatch(/none of its Pods is Ready\n.*docs\/router\.md.*--router/);
});

test("a port-forward that is refused ends it with the right that it needs", async () => {
  const { server } = await startForwarding(() => undefined);
  const api = fakeApi({ "GET /api/v1/pods": { items: [aRouterPod("router")] } });
  const setting = clusterWith(() => ({ headers: {}, tls: {} }), api);
  const ran = await run("dashboard --token a", {
    fetch,
    connectCluster: async (where) => {
      const cluster = await setting.connectCluster!(where);
      return { ...cluster, credentials: { ...cluster.credentials, server } };
    },
  });
  expect(ran).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/Pod agent-sandbox-system\/router.*\n.*pods\/portforward/),
  });
});
