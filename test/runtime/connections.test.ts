/** Connections to a runtime are limited: each costs memory of the sandbox, and nobody is asked for a token before. @module */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { MOST_CONNECTIONS } from "../../packages/runtime/listen.ts";
import { makeRoot } from "./folders.ts";
import { send, startTestRuntime } from "./servers.ts";

test("each port takes so many connections, drops more, and takes others when they are gone", async () => {
  const runtime = await startTestRuntime((await makeRoot()).root.path);
  onTestFinished(runtime.stop);
  for (const port of [runtime.port, runtime.restPort, runtime.grpcPort]) {
    const open: Socket[] = [];
    for (let count = 0; count < MOST_CONNECTIONS; count++) {
      const socket = connect(port, "127.0.0.1").on("error", () => {});
      open.push(socket);
      await once(socket, "connect");
    }
    const tooMany = connect(port, "127.0.0.1").on("error", () => {});
    await once(tooMany, "close");
    expect(open.filter(({ closed }) => closed)).toEqual([]);
    const gone = open.map((socket) => once(socket, "close"));
    for (const socket of open) socket.destroy();
    await Promise.all(gone);
  }
  await expect.poll(() => send(runtime.restPort, "GET", "/v1/health").then(({ status }) => status, () => 0)).toBe(200);
});
