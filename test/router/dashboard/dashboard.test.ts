/** The dashboard's server: whose requests it takes, what it asks the API server, and how it answers browsers. @module */
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { connect } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { createAddressOf } from "../../../packages/router/access/clientaddress.ts";
import { eventually, until } from "../../eventually.ts";
import { answerOf, chunksOf, SANDBOXES, start, tokenOf } from "./stage.ts";

const TOKEN = { authorization: "Bearer abc.def-1" };

test("a request is passed on with its token, its query and its body, and nothing else of it", async () => {
  const { ask, asked } = await start();
  const headers = {
    ...TOKEN,
    "impersonate-user": "admin",
    cookie: "a=b",
    "content-type": "application/merge-patch+json",
  };
  const path = "/apis/agents.x-k8s.io/v1beta1/namespaces/a/sandboxes/b";
  const answer = await ask(`/.hookbox/api${path}?dryRun=All`, { method: "PATCH", headers, body: '{"spec":{}}' });
  expect(answer).toMatchObject({ status: 200, text: '{"items":[]}' });
  expect(asked).toEqual([{
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
  {
    name: "with a token that a browser sends by itself",
    path: `${SANDBOXES}?token=abc.def-1`,
    init: { headers: { cookie: "token=abc.def-1" } },
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
  const { ask, asked } = await start();
  expect((await ask(`/.hookbox/api${path}`, init)).status).toBe(status);
  expect(asked).toEqual([]);
});

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

test("no more requests are open than there may be, of one namespace's accounts a fifth of them", async () => {
  let go = () => {};
  const waiting = new Promise<void>((resolve) => go = resolve);
  const apiProxy = async () => {
    await waiting;
    return answerOf(200, {});
  };
  const { ask } = await start({ apiProxy, maxOpenRequests: 6 });
  const look = (sub: string) => ask(`/.hookbox/api${SANDBOXES}`, { headers: bearer(tokenOf(sub)) });
  const accounts = ["team-a:one", "team-a:two", "team-b:one", "team-b:two", "team-c:one", "team-c:two"];
  const open = accounts.slice(0, 2).map((name) => look(`system:serviceaccount:${name}`));
  await eventually(async () => (await look("system:serviceaccount:team-a:three")).status).toBe(429);
  open.push(...accounts.slice(2).map((name) => look(`system:serviceaccount:${name}`)));
  await eventually(async () => (await look("ada@example.com")).status).toBe(429);
  go();
  expect((await Promise.all(open)).map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200]);
  expect((await look("system:serviceaccount:team-a:three")).status).toBe(200);
});

/** Asks one after another on one connection, and reads none of the answers. */
async function pipelined(port: number, tokens: string[]): Promise<void> {
  const socket = connect({ host: "127.0.0.1", port }).on("error", () => {});
  onTestFinished(() => void socket.destroy());
  await once(socket, "connect");
  const lines = tokens.map((token) =>
    `GET /.hookbox/api${SANDBOXES} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n\r\n`
  );
  socket.write(lines.join(""));
}

test("a token that the API server does not know holds no place, though its answer cannot leave", async () => {
  const known = tokenOf("ada@example.com");
  const watch = { status: 200, chunks: endless(), text: () => Promise.resolve("") };
  const userOf = (token: string) => token === known ? "ada@example.com" : undefined;
  const { ask, asked, seen, port } = await start({
    apiProxy: () => Promise.resolve(watch),
    userOf,
    maxOpenRequests: 10,
  });
  const victims = ["bob", "eve", "joe", "kim"].flatMap((name) => [tokenOf(name), tokenOf(name)]);
  // Behind the first answer, which never ends, all others queue.
  await pipelined(port, [known, ...victims]);
  await eventually(() => [asked.length, seen.unknown]).toEqual([1, new Set(victims).size]);
  expect((await ask(`/.hookbox/api${SANDBOXES}`, { headers: bearer(tokenOf("kim")) })).status).toBe(401);
  expect((await ask(`/.hookbox/api${SANDBOXES}`, { headers: bearer(tokenOf("zoe")) })).status).toBe(401);
});

async function* endless(): AsyncGenerator<Uint8Array> {
  yield* chunksOf("{}");
  await new Promise(() => {});
}

test("one address asks the API server about so many unknown tokens, and shuts out nobody who is somebody", async () => {
  const come = new Set<unknown>();
  const addressOf = ({ headers }: Pick<IncomingMessage, "headers">) => {
    come.add(headers.authorization);
    return `${headers["x-from"]}`;
  };
  const userOf = (token: string) => token.startsWith("known") ? token : undefined;
  const { ask, seen } = await start({ addressOf, userOf });
  const look = async (token: string, from = "here") => {
    const headers = { ...bearer(token), "x-from": from };
    return (await ask(`/.hookbox/api${SANDBOXES}`, { headers })).status;
  };
  for (let i = 0; i < 150; i++) expect(await look("known-ada"), "good ones are no guesses").toBe(200);
  const begun = performance.now();
  const guesses = Array.from({ length: 400 }, (_, i) => look(`guess-${i}`));
  // The newest is served first: a guess that came later would pass by who is somebody.
  await until(() => come.size === 401 && seen.unknown >= 100);
  expect([await look("known-ada"), await look("known-eve"), await look("guess-new", "elsewhere")]).toEqual([
    200,
    200,
    401,
  ]);
  for (const status of await Promise.all(guesses)) expect([401, 429]).toContain(status);
  const seconds = (performance.now() - begun) / 1000;
  // The one from elsewhere is among them.
  expect(seen.unknown, "100 at once, and 20 a second").toBeLessThanOrEqual(101 + 20 * seconds);
});

test("bodies that stall keep nobody out who comes from elsewhere, behind the same proxy too", async () => {
  const { ask, port } = await start({ addressOf: createAddressOf(["127.0.0.0/8"]) });
  const path = "/.hookbox/api/apis/agents.x-k8s.io/v1beta1/namespaces/a/sandboxes";
  const from = (address: string) => ({ ...TOKEN, "x-forwarded-for": address });
  const stalled = Array.from({ length: 32 }, () => {
    const asking = request({ host: "127.0.0.1", port, path, method: "POST", headers: from("192.0.2.1") });
    asking.on("error", () => {}).write("{");
    return asking;
  });
  onTestFinished(() => stalled.forEach((asking) => asking.destroy()));
  const write = async (address: string) =>
    (await ask(path, { method: "POST", headers: from(address), body: "{}" })).status;
  await eventually(() => write("192.0.2.1")).toBe(429);
  expect(await write("192.0.2.2")).toBe(200);
});

test("bodies that stall keep nobody out", async () => {
  const { ask, port } = await start({ maxOpenRequests: 5 });
  const path = "/.hookbox/api/apis/agents.x-k8s.io/v1beta1/namespaces/a/sandboxes";
  const stalled = Array.from({ length: 32 }, () => {
    const asking = request({ host: "127.0.0.1", port, path, method: "POST", headers: TOKEN });
    asking.on("error", () => {}).write("{");
    return asking;
  });
  onTestFinished(() => stalled.forEach((asking) => asking.destroy()));
  await eventually(async () => (await ask(path, { method: "POST", headers: TOKEN, body: "{}" })).status).toBe(429);
  expect((await ask(`/.hookbox/api${SANDBOXES}`, { headers: TOKEN })).status).toBe(200);
});

test("an API server out of reach is a 502", async () => {
  const { ask } = await start({ apiProxy: () => Promise.reject(new Error("refused")) });
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

test("its own host is, also with a domain of sandboxes", async () => {
  const { ask } = await start({ domain: "preview.example" });
  expect((await ask("/.hookbox/nothing", { headers: { host: "hookbox.example" } })).status).toBe(404);
});

test("files are only read", async () => {
  const { ask } = await start();
  expect(await ask("/.hookbox/", { method: "POST" })).toMatchObject({ status: 405, headers: { allow: "GET, HEAD" } });
});

test("a router that stops ends watches that come without a WebSocket, too, and takes no more", async () => {
  const isOpen = Promise.withResolvers<void>();
  const { ask, drain } = await start({
    apiProxy: ({ path }) => {
      if (!path.includes("watch")) return Promise.resolve(answerOf(200, {}));
      isOpen.resolve();
      async function* chunks(): AsyncGenerator<Uint8Array> {
        yield* chunksOf("{}");
        await new Promise(() => {});
      }
      return Promise.resolve({ status: 200, chunks: chunks(), text: () => Promise.resolve("") });
    },
  });
  const watch = ask(`/.hookbox/api${SANDBOXES}?watch=true`, { headers: TOKEN });
  await isOpen.promise;
  drain();
  await expect(watch).rejects.toThrow();
  expect((await ask(`/.hookbox/api${SANDBOXES}?watch=1`, { headers: TOKEN })).status).toBe(503);
  expect((await ask(`/.hookbox/api${SANDBOXES}`, { headers: TOKEN })).status).toBe(200);
});
