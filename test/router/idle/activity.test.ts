/** requestActivity(): whatever a sandbox answers, the look at it comes to an end. @module */
import { expect, test } from "vitest";
import { requestActivity } from "../../../packages/router/idle/activity.ts";
import { startRaw } from "../rawbackend.ts";

const ok = (body: string) => `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

test("takes what a runtime says", async () => {
  const { port } = await startRaw((socket) => socket.end(ok('{"running":1,"cpuSeconds":-1}')));
  expect(await requestActivity("127.0.0.1", port)).toMatchObject({ reported: { running: 1 } });
});

test.for<[name: string, bytes: string]>([
  ["a switch of protocols", "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"],
  ["a switch to nothing", "HTTP/1.1 101 Switching Protocols\r\n\r\n"],
  ["no answer but an end", ""],
  ["an end before its own", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}"],
  ["another status", "HTTP/1.1 204 No Content\r\n\r\n"],
  ["more than a runtime has to say", ok(`{"running":1,"x":"${"x".repeat(20_000)}"}`)],
  ["no HTTP", "SSH-2.0-OpenSSH\r\n"],
])("takes %s for none", async ([, bytes]) => {
  // A connection that stays open: only what was sent can end the look, and not its patience.
  const { port } = await startRaw((socket) => bytes.includes("101") ? socket.write(bytes) : socket.end(bytes));
  expect(await requestActivity("127.0.0.1", port)).toBeUndefined();
});

test.for<[name: string, bytes: string]>([
  ["nothing", ""],
  ["half an answer", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"],
])("tells who listens and says %s from who is not there", async ([, bytes]) => {
  const { port, server } = await startRaw((socket) => void (bytes && socket.write(bytes)));
  expect(await requestActivity("127.0.0.1", port, 50)).toBe("silent");
  await new Promise((resolve) => server.close(resolve));
  expect(await requestActivity("127.0.0.1", port, 50)).toBeUndefined();
});
