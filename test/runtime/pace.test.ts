/** Bodies keep pace with who takes them: what is in flight stays small, whatever the size. @module */
import { getRequestListener } from "@hono/node-server";
import { Buffer } from "node:buffer";
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { readdir, stat, truncate, writeFile } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { Hono } from "hono";
import { expect, onTestFinished, test } from "vitest";
import { bodyOf, takeFile } from "../../packages/runtime/http/body.ts";
import { writeWhole } from "../../packages/runtime/files/write.ts";
import type { HTTPEnv } from "../../packages/runtime/http/httppath.ts";
import { listen } from "../../packages/runtime/listen.ts";
import { eventually, settled } from "../eventually.ts";
import { makeRoot } from "./folders.ts";
import { FREE_PORTS } from "./freeports.ts";

/** Sockets of both sides and a few chunks may hold this much. */
const IN_FLIGHT_BYTES = 16 * 1024 ** 2;
const LARGE_BYTES = 64 * 1024 ** 2;

function open(port: number): Socket {
  const socket = connect(port, "127.0.0.1").on("error", () => {});
  onTestFinished(() => void socket.destroy());
  return socket;
}

test("a file is read only as fast as the client takes it", async () => {
  const { root, at } = await makeRoot({ "large": "" });
  await truncate(at("large"), LARGE_BYTES);
  const main = new URL("../../packages/runtime/main.ts", import.meta.url).pathname;
  const ports = ["--host", "127.0.0.1", ...FREE_PORTS];
  const child = spawn("node", [main, "--root", root.path, ...ports]);
  onTestFinished(() => void child.kill("SIGKILL"));
  let log = "";
  child.stderr.on("data", (part) => log += part);
  await eventually(() => log).toContain('"Listening"');
  const { restPort } = JSON.parse(log.split("\n").find((line) => line.includes('"Listening"')) ?? "{}");
  const bytesRead = () => Number(/rchar: (\d+)/.exec(readFileSync(`/proc/${child.pid}/io`, "utf8"))?.[1]);
  for (const path of ["/v1/files/large", "/v1/archive/"]) {
    const before = await settled(bytesRead);
    const socket = open(restPort);
    socket.pause();
    socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    await eventually(bytesRead).toBeGreaterThan(before + 100_000);
    const read = await settled(bytesRead) - before;
    expect([path, read]).toEqual([path, expect.toSatisfy((bytes: number) => bytes < IN_FLIGHT_BYTES)]);
    socket.destroy();
  }
});

/** Sends without end to an app that takes nothing, and says how much went out. */
async function sendTo(app: Hono<HTTPEnv>, head: string): Promise<number> {
  app.onError((_, c) => c.body(null, 500));
  const { port, close } = await listen(getRequestListener(app.fetch), "127.0.0.1", 0);
  onTestFinished(close);
  const socket = open(port);
  const chunk = Buffer.alloc(64 * 1024, "x");
  socket.write(head);
  const more = () => {
    while (socket.bytesWritten < LARGE_BYTES && socket.write(chunk));
  };
  socket.on("drain", more);
  more();
  // What is written may wait in this process still: only what has left it counts.
  return await settled(() => socket.bytesWritten - socket.writableLength);
}

const never = new Promise<never>(() => {});
const LENGTH = `Content-Length: ${LARGE_BYTES * 2}`;

test("a body waits in the client while nobody reads it", async () => {
  const app = new Hono<HTTPEnv>().put("/", async (c) => {
    for await (const _ of bodyOf(c)) await never;
    return c.body(null);
  });
  expect(await sendTo(app, `PUT / HTTP/1.1\r\nHost: localhost\r\n${LENGTH}\r\n\r\n`)).toBeLessThan(IN_FLIGHT_BYTES);
});

test("the file of a form does as well", async () => {
  const app = new Hono<HTTPEnv>().post("/", async (c) => {
    await takeFile(c, async (_, content) => {
      for await (const _ of content) await never;
    });
    return c.body(null);
  });
  const type = "Content-Type: multipart/form-data; boundary=B";
  const part = '--B\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\n';
  expect(await sendTo(app, `POST / HTTP/1.1\r\nHost: localhost\r\n${LENGTH}\r\n${type}\r\n\r\n${part}`))
    .toBeLessThan(IN_FLIGHT_BYTES);
});

test("writeWhole() asks for the next piece when the last one is in the file", async () => {
  const { root } = await makeRoot();
  await writeFile(join(root.path, "f"), "");
  const sizes: number[] = [];
  async function* source() {
    for (let i = 0; i < 5; i++) {
      const temporary = (await readdir(root.path)).find((name) => name !== "f") ?? "";
      sizes.push((await stat(join(root.path, temporary))).size);
      yield Buffer.alloc(1000);
    }
  }
  await writeWhole(root, "f", source());
  expect(sizes).toEqual([0, 1000, 2000, 3000, 4000]);
});
