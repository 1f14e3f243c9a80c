/** The port of this machine that a port-forward listens on. @module */
import { createServer } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { listenOn } from "../../../packages/process/connections.ts";
import { createForward } from "../../../packages/sdk/transport/forward.ts";

const POD = { namespace: "team-a", name: "demo", ip: "" };

function start() {
  const credentials = { server: "http://127.0.0.1:1", namespace: undefined, current: () => Promise.reject() };
  const forward = createForward(credentials, () => Promise.resolve(POD));
  onTestFinished(() => forward.close());
  return forward;
}

async function freePort(): Promise<number> {
  const server = createServer();
  const port = await listenOn(server, "127.0.0.1", 0);
  await new Promise((resolve) => server.close(resolve));
  return port;
}

test("is the one that was asked for, for one port and Pod", async () => {
  const forward = start();
  const port = await freePort();
  expect((await forward.reach(POD, 3000, port)).href).toBe(`http://127.0.0.1:${port}/`);
  expect((await forward.reach(POD, 3000, port)).href).toBe(`http://127.0.0.1:${port}/`);
  await expect(forward.reach(POD, 3001, port)).rejects.toMatchObject({ code: "EADDRINUSE" });
});

test("is a free one by default, and stays the same", async () => {
  const forward = start();
  const first = await forward.reach(POD, 3000);
  expect(Number(first.port)).toBeGreaterThan(0);
  expect((await forward.reach(POD, 3000)).href).toBe(first.href);
  expect((await forward.reach(POD, 3001)).href).not.toBe(first.href);
});
