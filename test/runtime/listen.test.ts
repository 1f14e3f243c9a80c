/** listen(): upgrades, what counts as running, and a close that leaves no connection. @module */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { listen, type Upgrades } from "../../packages/runtime/listen.ts";

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
