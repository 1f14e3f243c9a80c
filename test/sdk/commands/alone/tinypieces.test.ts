/** Output in many tiny pieces takes about what it is long: code in a sandbox may write a byte at a time. @module */
import { Buffer } from "node:buffer";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { WebSocketServer } from "ws";
import { collect } from "../../../../packages/sdk/commands/output.ts";
import type { ProcessEvent } from "../../../../packages/sdk/commands/process.ts";
import { execInPod } from "../../../../packages/sdk/transport/exec.ts";
import { liveBytes } from "../../../heap.ts";
import { OBJECT } from "../../localtransport.ts";

const PIECES = 500_000;

test("what is kept of a command's output in tiny pieces", async () => {
  const bytes = new TextEncoder().encode("ab");
  const before = liveBytes();
  let held = 0;
  async function* events(): AsyncGenerator<ProcessEvent> {
    for (let i = 0; i < PIECES; i++) yield { type: "output", stream: "stdout", bytes };
    held = liveBytes() - before;
    yield { type: "end", exitCode: 0, signal: "", timedOut: false };
  }
  const { stdout } = await collect(events(), { action: "run it", object: OBJECT });
  expect(stdout).toBe("ab".repeat(PIECES));
  expect(held).toBeLessThan(10_000_000);
});

test("output by the API server that nobody reads is not taken, and all of it is read later", async () => {
  const sent = Buffer.from([1, 97]);
  const messages = 200_000;
  const http = createServer().listen(0, "127.0.0.1");
  await once(http, "listening");
  const server = new WebSocketServer({ server: http });
  onTestFinished(() => {
    for (const client of server.clients) client.terminate();
    http.close();
  });
  const allSent = Promise.withResolvers<void>();
  server.on("connection", (socket) => {
    for (let i = 1; i < messages; i++) socket.send(sent);
    socket.send(sent, () => allSent.resolve());
    socket.send(Buffer.concat([Buffer.from([3]), Buffer.from('{"status":"Success"}')]));
  });
  const { port } = http.address() as AddressInfo;
  const credentials = {
    server: `http://127.0.0.1:${port}`,
    namespace: "a",
    current: () => Promise.resolve({ headers: {}, tls: {} }),
  };
  const before = liveBytes();
  const session = await execInPod(credentials, { namespace: "a", name: "b" } as never, {
    command: ["x"],
    stdin: false,
  });
  await allSent.promise;
  await setTimeout(500);
  expect(liveBytes() - before).toBeLessThan(15_000_000);
  let bytes = 0;
  for await (const event of session.events) if (event.type === "output") bytes += event.bytes.length;
  expect(bytes).toBe(messages);
});
