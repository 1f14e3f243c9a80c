/** listen(): upgrades, what counts as running, and a close that leaves no connection. @module */
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { setImmediate } from "node:timers";
import { Code, createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { expect, onTestFinished, test } from "vitest";
import { ProcessService } from "../../packages/runtime-api/gen/process/v1/process_pb.ts";
import { listen, type Upgrades } from "../../packages/runtime/listen.ts";
import { createWebHandler } from "../../packages/runtime/rpc/routes.ts";
import { createTokenCheck } from "../../packages/runtime/token.ts";
import { eventually } from "../eventually.ts";
import { speak, watchForCrashes } from "../fuzz/wire.ts";
import { aServer, decode, encode, shell } from "./rpc/serving.ts";
import { send } from "./servers.ts";

const echo: Upgrades = {
  wants: (request) => request.url === "/echo",
  upgrade: (_, socket) => {
    socket.on("error", () => {});
    socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n");
    socket.pipe(socket);
  },
};

/** Asks to change to another protocol and gives the connection with the answer's first line. */
async function ask(port: number, path: string): Promise<{ socket: Socket; line: string }> {
  const socket = connect(port, "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n`);
  const [answer] = await once(socket, "data");
  return { socket, line: `${answer}`.split("\r\n")[0] ?? "" };
}

/** Tells whether a promise has been kept by now. */
async function isKept(promise: Promise<unknown>): Promise<boolean> {
  return await Promise.race([
    promise.then(() => true),
    new Promise<boolean>((resolve) => setTimeout(resolve, 50, false)),
  ]);
}

test("listen() hands over what is wanted and answers the rest", async () => {
  const listening = await listen((_, response) => response.end("plain"), "127.0.0.1", 0, echo);
  onTestFinished(listening.close);
  const { socket, line } = await ask(listening.port, "/echo");
  expect(line).toBe("HTTP/1.1 101 Switching Protocols");
  socket.write("hello");
  expect(`${(await once(socket, "data"))[0]}`).toBe("hello");
  expect((await ask(listening.port, "/other")).line).toBe("HTTP/1.1 200 OK");
});

test("a connection that the caller has got is running until it ends, and close() ends it", async () => {
  const listening = await listen((_, response) => response.end(), "127.0.0.1", 0, echo);
  const { socket } = await ask(listening.port, "/echo");
  const idle = listening.idle();
  expect(await isKept(idle)).toBe(false);
  const ended = once(socket, "close");
  await listening.close();
  await ended;
  await idle;
  await listening.idle();
});

const transports = {
  "gRPC, HTTP/2": (baseUrl: string) => createGrpcTransport({ baseUrl }),
  "gRPC-web, HTTP/1.1": (baseUrl: string) => createGrpcWebTransport({ baseUrl, httpVersion: "1.1" }),
  "gRPC-web, HTTP/2": (baseUrl: string) => createGrpcWebTransport({ baseUrl, httpVersion: "2" }),
  "Connect JSON, HTTP/1.1": (baseUrl: string) =>
    createConnectTransport({ baseUrl, httpVersion: "1.1", useBinaryFormat: false }),
  "Connect, HTTP/2": (baseUrl: string) => createConnectTransport({ baseUrl, httpVersion: "2" }),
};

test.for(Object.entries(transports))("one port speaks %s", async ([, transport]) => {
  const { baseUrl } = await aServer();
  const client = createClient(ProcessService, transport(baseUrl));
  expect(decode((await client.execute({ config: shell("echo hi") })).stdout)).toBe("hi\n");
  const cases: (string | undefined)[] = [];
  for await (const { event } of client.start({ config: shell("echo hi") })) cases.push(event.case);
  expect(cases).toEqual(["init", "stdout", "exit"]);
  await expect(client.execute({})).rejects.toMatchObject({ code: Code.InvalidArgument });
});

test("a preface that comes byte by byte is HTTP/2, and so is a request HTTP/1.1", async () => {
  const { listening } = await aServer();
  const speak = async (text: string) => {
    const socket = connect(listening.port, "127.0.0.1").setNoDelay(true);
    for (const byte of text) {
      socket.write(byte);
      await new Promise((resolve) => setImmediate(resolve));
    }
    const answer = await new Promise<Uint8Array>((resolve) => socket.once("data", resolve));
    socket.destroy();
    return answer;
  };
  // An HTTP/2 server begins with a SETTINGS frame, type 4.
  expect((await speak("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0"))[3]).toBe(4);
  expect(decode(await speak("GET / HTTP/1.1\r\nhost: localhost\r\n\r\n"))).toMatch(/^HTTP\/1.1 404 /);
});

test.for<[host: string, status: number]>([["a b", 403], ["[", 403], ["localhost:99999", 400]])(
  "a request to the host %j is refused, and the next is answered",
  async ([host, status]) => {
    const { listening } = await aServer();
    const statusOf = async (host: string) => {
      const path = "/process.v1.ProcessService/Execute";
      return (await send(listening.port, "POST", path, {
        headers: { Host: host, "Content-Type": "application/json" },
        body: "{}",
      })).status;
    };
    expect(await statusOf(host)).toBe(status);
    expect(await statusOf("localhost"), "for what it lacks").toBe(400);
    expect((await send(listening.port, "GET", "/")).status).toBe(404);
  },
);

test("a body that breaks off when its answer has ended ends nothing else", async () => {
  const { listening } = await aServer();
  const { crashes, stop } = watchForCrashes();
  onTestFinished(stop);
  const head = "GET /process.v1.ProcessService/Start HTTP/1.1\r\nHost: localhost\r\n";
  const request = `${head}Content-Type: application/connect+proto\r\nContent-Length: 7\r\n\r\n1234567`;
  // Another byte is no third request: what comes in is given up while the second is still read.
  for (let round = 0; round < 20; round++) {
    expect(await speak(listening.port, `${request}${request}\0`, "patient")).toMatch(/^HTTP\/1\.1 4/);
  }
  expect(crashes).toEqual([]);
});

test("requests on one HTTP/1.1 connection come one after another", async () => {
  const { baseUrl } = await aServer();
  for (let round = 0; round < 3; round++) {
    const answer = await fetch(`${baseUrl}/process.v1.ProcessService/Execute`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ config: shell("echo hi") }),
    });
    expect(await answer.json()).toEqual({ stdout: "aGkK" });
  }
});

test("with a token, only its bearer is let in", async () => {
  const open = await aServer();
  const file = join(open.root, "token");
  writeFileSync(file, "secret\n");
  const { baseUrl } = await aServer({ token: createTokenCheck(file, true) });
  const call = (authorization?: string) =>
    createClient(ProcessService, createGrpcTransport({ baseUrl })).execute(
      { config: shell("true") },
      { headers: authorization ? { authorization } : {} },
    );
  await expect(call()).rejects.toMatchObject({ code: Code.Unauthenticated });
  await expect(call("Bearer wrong")).rejects.toMatchObject({ code: Code.Unauthenticated });
  expect(await call("Bearer secret")).toMatchObject({ exitCode: 0 });
});

/** A message of a stream as Connect frames it: a byte of flags, four of length. */
function enveloped(message: string): Uint8Array<ArrayBuffer> {
  const frame = new Uint8Array(5 + message.length);
  new DataView(frame.buffer).setUint32(1, message.length);
  frame.set(encode(message), 5);
  return frame;
}

test("createWebHandler() answers its own paths, streams too, and no others", async () => {
  const { routes } = await aServer();
  const handler = createWebHandler(routes);
  expect(handler(new Request("http://x/v1/health"))).toBeUndefined();
  const answer = await handler(
    new Request("http://x/process.v1.ProcessService/Execute?x=1", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ config: shell("echo hi; exit 2") }),
    }),
  );
  expect(await answer?.json()).toEqual({ exitCode: 2, stdout: "aGkK" });
  const stream = await handler(
    new Request("http://x/process.v1.ProcessService/Start", {
      method: "POST",
      headers: { "content-type": "application/connect+json" },
      body: enveloped(JSON.stringify({ config: shell("echo hi") })),
    }),
  );
  expect(await stream?.text()).toMatch(/\{"init".*\{"stdout":"aGkK"\}.*\{"exit":\{\}\}/s);
});

test("a caller of createWebHandler() that leaves its stream takes the process along", async () => {
  const { routes, processes } = await aServer();
  const stream = await createWebHandler(routes)(
    new Request("http://x/process.v1.ProcessService/Start", {
      method: "POST",
      headers: { "content-type": "application/connect+json" },
      body: enveloped(JSON.stringify({ config: shell("echo hi; sleep 300") })),
    }),
  );
  const reader = stream?.body?.getReader();
  await reader?.read();
  expect(processes.list().length).toBe(1);
  await reader?.cancel();
  await eventually(() => processes.list()).toEqual([]);
});

test("a port that closes ends what it has, and waits for what runs", async () => {
  const { baseUrl, listening, processes } = await aServer();
  const client = createClient(ProcessService, createGrpcTransport({ baseUrl }));
  const call = client.execute({ config: shell("sleep 300") });
  call.catch(() => {});
  await eventually(() => processes.list().length).toBe(1);
  let idle = false;
  const waiting = listening.idle().then(() => idle = true);
  expect(idle).toBe(false);
  processes.killAll();
  expect(await call).toMatchObject({ exitCode: -1 });
  await waiting;
  await listening.close();
  const another = createClient(ProcessService, createGrpcTransport({ baseUrl }));
  await expect(another.execute({ config: shell("true") })).rejects.toMatchObject({ code: Code.Unavailable });
});
