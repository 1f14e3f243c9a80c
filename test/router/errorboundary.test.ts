/** An exception that nobody catches: the connection that it was about ends, and all others go on. @module */
import { spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { request, type ServerResponse } from "node:http";
import process from "node:process";
import { setImmediate } from "node:timers";
import { expect, onTestFinished, test } from "vitest";
import { listen } from "../../packages/router/server.ts";
import { installErrorBoundary } from "../../packages/router/errorboundary.ts";
import { untilThere } from "../eventually.ts";
import { watchForCrashes } from "../fuzz/wire.ts";
import { dial, fetchFrom, fetchHttp2, open } from "./client.ts";
import { startBackend, textOf } from "./stage.ts";

/** Ways to throw, while an answer is on its way. */
const WAYS: Record<string, (fail: () => never, backend: number) => unknown> = {
  "/at-once": (fail) => fail(),
  "/in-an-event": (fail, port) => request({ host: "127.0.0.1", port, agent: false }, fail).end(),
  "/in-an-event-of-ours": (fail) => {
    const emitter = new EventEmitter().once("x", fail);
    setImmediate(() => emitter.emit("x"));
  },
  "/in-a-timer": (fail) => setTimeout(fail, 1),
  "/in-a-promise": async (fail) => {
    await Promise.resolve();
    fail();
  },
};

async function start() {
  const survived: unknown[] = [];
  // Vitest's own listeners would take each for a failure of the test.
  const { stop } = watchForCrashes();
  // A promise that is rejected becomes an exception where nobody listens for that.
  process.removeAllListeners("unhandledRejection");
  const end = new AbortController();
  installErrorBoundary((error) => survived.push((error as Error).message), end.signal);
  onTestFinished(() => {
    end.abort();
    stop();
  });
  const backend = await startBackend((_, answer) => answer.end("x"));
  const kept: ServerResponse[] = [];
  const fail = (url: string) => () => {
    throw new Error(url);
  };
  const server = await listen({
    request({ url = "" }, response) {
      if (url === "/ok") return void response.end("ok");
      if (url === "/kept") return void kept.push(response.writeHead(200));
      WAYS[url]?.(fail(url), backend.port);
    },
    upgrade: ({ url = "" }) => fail(url)(),
  }, { host: "127.0.0.1", port: 0, graceMs: 0, h2c: true });
  onTestFinished(() => server.stop());
  return { port: server.port, survived, kept };
}

test.for(Object.keys(WAYS))("thrown %s", async (path) => {
  const { port, survived, kept } = await start();
  const other = open(port, { path: "/kept" });
  await untilThere(1, () => kept);
  kept[0]?.write("still ");
  await expect(fetchFrom(port, { path })).rejects.toThrow(/hang up|ECONNRESET/);
  expect(await fetchHttp2(port, { ":path": path })).toMatchObject({ status: 0, code: 2 });
  expect(survived).toEqual([path, path]);
  kept[0]?.end("here");
  expect(await textOf(await other)).toBe("still here");
  expect((await fetchHttp2(port, { ":path": "/ok" })).text).toBe("ok");
});

test("thrown by a request for another protocol", async () => {
  const { port, survived } = await start();
  const socket = await dial(port);
  socket.write("GET /up HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n");
  await new Promise((resolve) => socket.once("close", resolve));
  expect(survived).toEqual(["/up"]);
});

test("a log that nobody takes any more ends the process: each line about what it has survived would fail again", async () => {
  const module = new URL("../../packages/router/errorboundary.ts", import.meta.url);
  const script = `import { installErrorBoundary, runInBoundary } from ${JSON.stringify(module)};
    installErrorBoundary((error) => console.log(error.message), new AbortController().signal);
    runInBoundary(() => {}, () => setInterval(() => console.log("said"), 1));`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", script], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  child.stdout.once("data", () => child.stdout.destroy());
  expect(await once(child, "exit")).toEqual([1, null]);
});

test("one that belongs to no connection ends the process still", async () => {
  const { survived } = await start();
  const survive = process.listeners("uncaughtException").at(-1)!;
  expect(() => survive(new Error("elsewhere"), "uncaughtException")).toThrow("elsewhere");
  expect(survived).toEqual([]);
});
