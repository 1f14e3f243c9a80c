/** The dashboard's server: whose requests it takes, what it asks the API server, and how it answers browsers. @module */
import { Buffer } from "node:buffer";
import { createServer, type IncomingMessage, request } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import type { Relayed } from "../../../packages/kube/relay.ts";
import { createDashboard, type DashboardOptions } from "../../../packages/router/dashboard/dashboard.ts";

const SANDBOXES = "/apis/agents.x-k8s.io/v1beta1/sandboxes";

interface Answered {
  status: number;
  headers: IncomingMessage["headers"];
  text: string;
}

/** Starts one; what is not the dashboard's is answered 418. */
async function start(options: Partial<DashboardOptions> = {}) {
  const relayed: Relayed[] = [];
  const dashboard = createDashboard({
    relay: (request) => {
      relayed.push(request);
      return Promise.resolve({ status: 200, chunks: chunksOf('{"items":[]}'), text: () => Promise.resolve("") });
    },
    log: () => {},
    domain: undefined,
    ...options,
  });
  const server = createServer((incoming, response) => {
    if (dashboard.owns(incoming)) dashboard.answer(incoming, response);
    else response.writeHead(418).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  onTestFinished(() => server.closeAllConnections());
  const { port } = server.address() as AddressInfo;
  const ask = (path: string, init: { method?: string; headers?: Record<string, string>; body?: string } = {}) =>
    new Promise<Answered>((resolve, reject) => {
      const { body, ...rest } = init;
      const asking = request({ host: "127.0.0.1", port, path, ...rest }, async (response) => {
        let text = "";
        for await (const chunk of response) text += chunk;
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
      });
      asking.once("error", reject).end(body);
    });
  return { ask, relayed, port };
}

async function* chunksOf(text: string): AsyncGenerator<Uint8Array> {
  yield new TextEncoder().encode(text);
}

const TOKEN = { authorization: "Bearer abc.def-1" };

test("a request is passed on with its token, its query and its body, and nothing else of it", async () => {
  const { ask, relayed } = await start();
  const headers = {
    ...TOKEN,
    "impersonate-user": "admin",
    cookie: "a=b",
    "content-type": "application/merge-patch+json",
  };
  const path = "/apis/agents.x-k8s.io/v1beta1/namespaces/a/sandboxes/b";
  const answer = await ask(`/.hookbox/api${path}?dryRun=All`, { method: "PATCH", headers, body: '{"spec":{}}' });
  expect(answer).toMatchObject({ status: 200, text: '{"items":[]}' });
  expect(relayed).toEqual([{
    method: "PATCH",
    path: `${path}?dryRun=All`,
    token: "abc.def-1",
    body: { text: '{"spec":{}}', type: "application/merge-patch+json" },
    signal: expect.any(AbortSignal),
  }]);
});

test("no browser takes an answer of the API server for a page", async () => {
  const { ask } = await start();
  const { headers } = await ask(`/.hookbox/api${SANDBOXES}`, { headers: TOKEN });
  expect(headers).toMatchObject({
    "content-type": "application/json",
    "content-security-policy": "default-src 'none'; sandbox",
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
  });
});

test.for([
  { name: "without a token", path: SANDBOXES, init: {}, status: 401 },
  {
    name: "with something else than a token",
    path: SANDBOXES,
    init: { headers: { authorization: "Basic eDp5" } },
    status: 401,
  },
  { name: "for a Secret", path: "/api/v1/namespaces/a/secrets/b", init: { headers: TOKEN }, status: 403 },
  {
    name: "with a body that is too long",
    path: "/apis/extensions.agents.x-k8s.io/v1beta1/namespaces/a/sandboxclaims",
    init: { method: "POST", headers: TOKEN, body: "x".repeat(300_000) },
    status: 413,
  },
])("a request $name is refused, and the API server never sees it", async ({ path, init, status }) => {
  const { ask, relayed } = await start();
  expect((await ask(`/.hookbox/api${path}`, init)).status).toBe(status);
  expect(relayed).toEqual([]);
});

/** What a ServiceAccount's token looks like to who cannot check it. */
function tokenOf(sub: string): { authorization: string } {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  return { authorization: `Bearer ${part({ alg: "RS256" })}.${part({ sub })}.x` };
}

test("no more requests are open than there may be, of one namespace's accounts a fifth of them", async () => {
  let go = () => {};
  const waiting = new Promise<void>((resolve) => go = resolve);
  const relay = async () => {
    await waiting;
    return { status: 200, chunks: chunksOf("{}"), text: () => Promise.resolve("") };
  };
  const { ask } = await start({ relay, maxOpen: 6 });
  const look = (sub: string) => ask(`/.hookbox/api${SANDBOXES}`, { headers: tokenOf(sub) });
  const accounts = ["team-a:one", "team-a:two", "team-b:one", "team-b:two", "team-c:one", "team-c:two"];
  const open = accounts.slice(0, 2).map((name) => look(`system:serviceaccount:${name}`));
  await expect.poll(async () => (await look("system:serviceaccount:team-a:three")).status).toBe(429);
  open.push(...accounts.slice(2).map((name) => look(`system:serviceaccount:${name}`)));
  await expect.poll(async () => (await look("ada@example.com")).status).toBe(429);
  go();
  expect((await Promise.all(open)).map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200]);
  expect((await look("system:serviceaccount:team-a:three")).status).toBe(200);
});

test("bodies that stall keep nobody out", async () => {
  const { ask, port } = await start({ maxOpen: 5 });
  const path = "/.hookbox/api/apis/agents.x-k8s.io/v1beta1/namespaces/a/sandboxes";
  const stalled = Array.from({ length: 32 }, () => {
    const asking = request({ host: "127.0.0.1", port, path, method: "POST", headers: TOKEN });
    asking.on("error", () => {}).write("{");
    return asking;
  });
  onTestFinished(() => stalled.forEach((asking) => asking.destroy()));
  await expect.poll(async () => (await ask(path, { method: "POST", headers: TOKEN, body: "{}" })).status).toBe(429);
  expect((await ask(`/.hookbox/api${SANDBOXES}`, { headers: TOKEN })).status).toBe(200);
});

test("an API server out of reach is a 502", async () => {
  const { ask } = await start({ relay: () => Promise.reject(new Error("refused")) });
  expect(await ask(`/.hookbox/api${SANDBOXES}`, { headers: TOKEN })).toMatchObject({
    status: 502,
    text: '{"detail":"The API server cannot be reached."}',
  });
});

test.for([
  { name: "a host of a sandbox", path: "/.hookbox/", headers: { host: "8080-demo-a.preview.example" } },
  { name: "a request that names its sandbox", path: "/.hookbox/", headers: { "x-sandbox-id": "demo" } },
  { name: "another path", path: "/x/.hookbox/", headers: {} },
])("$name is not the dashboard's", async ({ path, headers }) => {
  const { ask } = await start({ domain: "preview.example" });
  expect((await ask(path, { headers })).status).toBe(418);
});

test("its own host is, beside a domain of sandboxes", async () => {
  const { ask } = await start({ domain: "preview.example" });
  expect((await ask("/.hookbox/nothing", { headers: { host: "hookbox.example" } })).status).toBe(404);
});

test("files are only read", async () => {
  const { ask } = await start();
  expect(await ask("/.hookbox/", { method: "POST" })).toMatchObject({ status: 405, headers: { allow: "GET, HEAD" } });
});
