/** The page's one connection, against the router's own end of it. @module */
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import { type AddressInfo, connect as connectTo, createServer as createNetServer, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { MOST_STREAMS, MOST_UNPROVEN_STREAMS } from "../../packages/api/router/multiplex.ts";
import { type ConnectionOptions, createConnection } from "../../packages/dashboard/connection.ts";
import { createTunnel } from "../../packages/router/dashboard/tunnel.ts";
import { until, untilThere } from "../eventually.ts";
import { socketOf } from "../router/dashboard/stage.ts";

/** The router: a tunnel in front of `answer`, on a port that can be given again. */
async function startRouter(answer: RequestListener, { port = 0, isBlocked = false } = {}) {
  let tunnel = createTunnel(() => "here");
  const sockets = new Set<Socket>();
  const seen = { upgrades: 0, plain: 0 };
  const server = createServer((request, response) => {
    seen.plain++;
    answer(request, response);
  });
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  server.on("upgrade", (request: IncomingMessage, socket: Socket, head: Uint8Array) => {
    if (isBlocked) return void socket.end("HTTP/1.1 403 Forbidden\r\n\r\n");
    seen.upgrades++;
    const serve = (incoming: IncomingMessage, response: ServerResponse) => answer(incoming, response);
    tunnel.open({ request, socket, head, serve, onAnswered: () => {} });
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const stop = async () => {
    const closed = new Promise((resolve) => server.close(resolve));
    sockets.forEach((socket) => socket.destroy());
    await closed;
  };
  onTestFinished(() => void stop());
  /** As behind a Service: the router stops, and the next connections reach another one. */
  const replace = () => {
    const before = tunnel;
    tunnel = createTunnel(() => "here");
    before.drain();
  };
  return { port: (server.address() as AddressInfo).port, seen, stop, replace };
}

function open(port: number, options: Partial<ConnectionOptions> = {}) {
  const origin = `http://127.0.0.1:${port}`;
  const connection = createConnection({
    page: `${origin}/.hookbox/`,
    WebSocket: socketOf(origin),
    fetch: (url, init) => fetch(url, init),
    retryMs: 300,
    openMs: 2000,
    ...options,
  });
  onTestFinished(() => connection.close());
  return connection;
}

const headers = { "Authorization": "Bearer ada", "X-Sandbox-ID": "demo" };

test("what fetch returns comes over one WebSocket: status, headers, and bodies of both directions", async () => {
  const { port, seen } = await startRouter((request, response) => {
    response.writeHead(201, "Made", { "X-Method": request.method });
    request.pipe(response);
  });
  const connection = open(port);
  const large = new Uint8Array(1_000_000).map((_, i) => i % 251);
  const bodies = [undefined, "grüße", large, new Blob([large]), new Blob([large]).stream()];
  const answers = await Promise.all(
    bodies.map((body) =>
      connection.fetch("/x", { method: body === undefined ? "GET" : "POST", headers, body: body ?? null })
    ),
  );
  expect(answers.map(({ status, statusText, headers }) => [status, statusText, headers.get("x-method")])).toEqual([
    [201, "Made", "GET"],
    ...Array.from({ length: 4 }, () => [201, "Made", "POST"]),
  ]);
  const [, text, ...rest] = answers;
  expect(await text?.text()).toBe("grüße");
  for (const answer of rest) expect(new Uint8Array(await answer.arrayBuffer())).toEqual(large);
  expect(seen).toEqual({ upgrades: 1, plain: 0 });
});

test("a thousand requests at once all get their answer, though few may be open", async () => {
  const held: ServerResponse[] = [];
  const { port } = await startRouter((_, response) => void held.push(response));
  const connection = open(port);
  const all = Promise.all(Array.from({ length: 1000 }, async () => {
    return await (await connection.fetch("/x", { headers })).text();
  }));
  await untilThere(MOST_UNPROVEN_STREAMS, () => held);
  // The next ones come when an answer shows that the token is valid.
  held.shift()?.end("ok");
  await untilThere(MOST_STREAMS, () => held);
  const pulse = setInterval(() => held.splice(0).forEach((response) => response.end("ok")), 1);
  onTestFinished(() => clearInterval(pulse));
  expect(new Set(await all)).toEqual(new Set(["ok"]));
});

test("an aborted request ends at the router, before its answer and during it", async () => {
  let gone = 0;
  const { port } = await startRouter((request, response) => {
    response.once("close", () => gone++);
    if (request.url === "/slow") response.write("a");
  });
  const connection = open(port);
  const ending = new AbortController();
  const waiting = connection.fetch("/never", { headers, signal: ending.signal });
  const slow = await connection.fetch("/slow", { headers, signal: ending.signal });
  const rest = slow.text();
  ending.abort(new Error("enough"));
  await expect(waiting).rejects.toThrow("enough");
  await expect(rest).rejects.toThrow("enough");
  await until(() => gone === 2);
  const cancelled = await connection.fetch("/slow", { headers });
  await cancelled.body?.cancel();
  await until(() => gone === 3);
});

test("an answer that is not read does not hold up another", async () => {
  const { port } = await startRouter((request, response) => {
    if (request.url === "/large") response.write(new Uint8Array(5_000_000));
    else response.end("ok");
  });
  const connection = open(port);
  const large = await connection.fetch("/large", { headers });
  expect(await (await connection.fetch("/x", { headers })).text()).toBe("ok");
  let bytes = 0;
  for await (const chunk of large.body as unknown as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    if (bytes === 5_000_000) break;
  }
  expect(bytes).toBe(5_000_000);
});

test("after a restart of the router, requests that read wait and go on, and others fail at once", async () => {
  const answer: RequestListener = (request, response) =>
    request.url === "/watch" ? void response.write("{}") : response.end("ok");
  const { port, stop } = await startRouter(answer);
  const connection = open(port);
  const watch = await connection.fetch("/watch", { headers });
  const changes: boolean[] = [];
  connection.subscribe(() => changes.push(connection.state().lostSince !== undefined));
  const before = Date.now();
  await stop();
  await expect(watch.text()).rejects.toThrow("The connection to the router broke");
  await until(() => connection.state().lostSince !== undefined);
  expect(connection.state().lostSince?.getTime()).toBeLessThanOrEqual(Date.now());
  expect(connection.state().lostSince?.getTime()).toBeGreaterThan(before - 1000);
  const reading = connection.fetch("/x", { headers });
  await expect(connection.fetch("/x", { headers, method: "DELETE" })).rejects.toThrow("The router cannot be reached");
  await startRouter(answer, { port });
  expect(await (await reading).text()).toBe("ok");
  expect(connection.state()).toEqual({ lostSince: undefined, retryAt: undefined, isPlain: false });
  expect(changes).toContain(true);
});

test("if a router stops, open requests go on there, and new ones go to another router without a break", async () => {
  const held: ServerResponse[] = [];
  const answer: RequestListener = (request, response) =>
    request.url === "/slow" ? void held.push(response) : response.end("ok");
  const { port, seen, replace } = await startRouter(answer);
  const connection = open(port);
  const states: boolean[] = [];
  connection.subscribe(() => states.push(connection.state().lostSince !== undefined));
  const slow = connection.fetch("/slow", { headers });
  await untilThere(1, () => held);
  replace();
  // Until the page has read that the router stops, requests still go there.
  await until(async () => {
    expect(await (await connection.fetch("/x", { headers })).text()).toBe("ok");
    return seen.upgrades === 2;
  });
  held[0]?.end("whole");
  expect(await (await slow).text()).toBe("whole");
  expect(states).not.toContain(true);
  expect(seen).toEqual({ upgrades: 2, plain: 0 });
});

test("a network that swallows everything is noticed", async () => {
  const { port } = await startRouter((_, response) => void response.write("{}"));
  let isSilent = false;
  const proxy = createNetServer((near) => {
    const far = connectTo(port, "127.0.0.1");
    near.on("data", (chunk) => isSilent || far.write(chunk)).on("error", () => {}).on("close", () => far.destroy());
    far.on("data", (chunk) => isSilent || near.write(chunk)).on("error", () => {}).on("close", () => near.destroy());
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void proxy.close());
  const connection = open((proxy.address() as AddressInfo).port, { pingMs: 50, silenceMs: 1000 });
  const watch = await connection.fetch("/watch", { headers });
  isSilent = true;
  await expect(watch.text()).rejects.toThrow("The connection to the router broke");
  expect(connection.state().lostSince).toBeInstanceOf(Date);
  isSilent = false;
  expect((await connection.fetch("/watch", { headers })).status).toBe(200);
});

test("if the WebSocket is blocked, requests go by fetch, and the page learns of it", async () => {
  const { port, seen } = await startRouter((_, response) => void response.end("ok"), { isBlocked: true });
  const connection = open(port);
  expect(await (await connection.fetch("/x", { headers })).text()).toBe("ok");
  expect(connection.state()).toEqual({ lostSince: undefined, retryAt: undefined, isPlain: true });
  expect(seen).toEqual({ upgrades: 0, plain: 1 });
});

test("an empty token is not sent: a proxy in front adds the user's", async () => {
  const seen: unknown[] = [];
  const { port } = await startRouter((request, response) => {
    seen.push(request.headers.authorization);
    response.end();
  }, { isBlocked: true });
  await open(port).fetch("/x", { headers: { Authorization: "Bearer " } });
  expect(seen).toEqual([undefined]);
});

test("a WebSocket without requests is closed, and the next request opens another", async () => {
  const { port, seen } = await startRouter((_, response) => void response.end("ok"));
  const connection = open(port, { idleMs: 10, pingMs: 10 });
  await (await connection.fetch("/x", { headers })).text();
  const again = async () => {
    await (await connection.fetch("/x", { headers })).text();
    return seen.upgrades;
  };
  await until(async () => (await new Promise((resolve) => setTimeout(resolve, 30)), await again() > 1));
  expect(connection.state().lostSince).toBeUndefined();
});

test("below a proxy's path, the router gets its own paths", async () => {
  const { port } = await startRouter((request, response) => void response.end(request.url));
  const connection = open(port);
  const origin = `http://127.0.0.1:${port}`;
  const below = createConnection({
    page: `${origin}/box/.hookbox/`,
    WebSocket: class {
      constructor(url: URL, protocol: string) {
        expect(url.pathname).toBe("/box/.hookbox/connection");
        return new (socketOf(origin))(new URL("/.hookbox/connection", url), protocol);
      }
    } as unknown as typeof WebSocket,
    fetch: (url, init) => fetch(url, init),
  });
  onTestFinished(() => below.close());
  const path = "/.hookbox/api/x?y";
  const token = { Authorization: "Bearer ada" };
  expect(await (await below.fetch(`/box${path}`, { headers: token })).text()).toBe(path);
  expect(await (await connection.fetch(path, { headers: token })).text()).toBe(path);
});
