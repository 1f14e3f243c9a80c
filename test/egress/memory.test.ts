/** What a sandbox sends and receives through the proxy does not stay in its memory, however much it is. @module */
import { Buffer } from "node:buffer";
import { createServer } from "node:https";
import { request as httpsRequest } from "node:https";
import type { Server } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setImmediate } from "node:timers/promises";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { aStage, listening, open, secured, serverCertificate, type Stage, tunnel } from "./proxystage.ts";

const MIB = 1024 * 1024;
/** What each test moves, and by how much the memory may grow. */
const MUCH = 256 * MIB;
const LITTLE = 64 * MIB;

let stage: Stage;
let received = 0;
beforeAll(async () => {
  const { key, cert } = serverCertificate(["api.example"]);
  stage = await aStage(undefined, cert);
  const server = createServer({ key, cert }, (request, response) => {
    if (request.method === "GET") return void zeros(MUCH).pipe(response);
    request.on("data", (chunk: Buffer) => received += chunk.length).on("end", () => response.end("done"));
  });
  const sockets = new WebSocketServer({ server, maxPayload: 2 * MUCH, perMessageDeflate: { threshold: 0 } });
  sockets.on("connection", (ws) => ws.on("message", (data: Buffer) => ws.send(`${data.length}`)));
  stage.ports[443] = await listening(server as unknown as Server);
});
afterAll(async () => {
  await stage.proxy.stop();
  open.forEach((server) => server.close());
});

const CHUNK = Buffer.alloc(MIB);
const zeros = (bytes: number) =>
  Readable.from((function* () {
    for (let sent = 0; sent < bytes; sent += MIB) yield CHUNK;
  })());

/** TLS to the host that gets the header, so that the proxy reads what passes. */
async function inside() {
  const { socket } = await tunnel(stage.proxy, "api.example:443");
  return await secured(socket, "api.example", { ca: stage.proxy.ca });
}

async function send(method: string) {
  const tls = await inside();
  const headers = { host: "api.example" };
  return httpsRequest({ createConnection: () => tls, host: "api.example", method, path: "/", headers });
}

/** By how much the peak of the proxy's memory has grown. */
async function growth(work: () => Promise<void>): Promise<number> {
  const before = stage.proxy.peakMemory();
  await work();
  return stage.proxy.peakMemory() - before;
}

test("an upload", async () => {
  const grown = await growth(async () => {
    const request = await send("POST");
    const answered = new Promise((resolve) => request.once("response", (response) => resolve(response.resume())));
    await pipeline(zeros(MUCH), request);
    await answered;
  });
  expect(received).toBe(MUCH);
  expect(grown).toBeLessThan(LITTLE);
});

test("a download, also if the sandbox does not read it at once", async () => {
  let read = 0;
  const grown = await growth(async () => {
    const request = await send("GET");
    await new Promise<void>((resolve, reject) => {
      request.once("error", reject).once("response", async (response) => {
        for await (const chunk of response) {
          read += chunk.length;
          // A reader that is slower than the server.
          if (read % (8 * MIB) < chunk.length) await setImmediate();
        }
        resolve();
      });
      request.end();
    });
  });
  expect(read).toBe(MUCH);
  expect(grown).toBeLessThan(LITTLE);
});

test.each([["in one frame", 1], ["in many frames", 256]])("a message of a WebSocket, %s", async (_, frames) => {
  let heard = "";
  const grown = await growth(async () => {
    const tls = await inside();
    const ws = new WebSocket("wss://api.example/live", { createConnection: () => tls, perMessageDeflate: false });
    onTestFinished(() => ws.terminate());
    await new Promise((resolve, reject) => ws.once("open", resolve).once("error", reject));
    const answered = new Promise((resolve, reject) => ws.once("message", resolve).once("close", reject));
    const part = Buffer.alloc(MUCH / frames);
    for (let sent = 1; sent <= frames; sent++) {
      await new Promise((resolve) => ws.send(part, { fin: sent === frames, binary: true }, resolve));
    }
    heard = String(await answered);
  });
  expect(heard).toBe(String(MUCH));
  expect(grown).toBeLessThan(LITTLE);
});

test("compressed messages pass, and are not unpacked", async () => {
  const tls = await inside();
  const ws = new WebSocket("wss://api.example/live", { createConnection: () => tls });
  onTestFinished(() => ws.terminate());
  await new Promise((resolve, reject) => ws.once("open", resolve).once("error", reject));
  expect(ws.extensions).toContain("permessage-deflate");
  const answered = new Promise((resolve) => ws.once("message", resolve));
  const grown = await growth(async () => {
    ws.send(Buffer.alloc(MUCH));
    expect(String(await answered)).toBe(String(MUCH));
  });
  expect(grown).toBeLessThan(LITTLE);
});
