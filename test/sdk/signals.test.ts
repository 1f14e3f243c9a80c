/** Every call into a sandbox is left when its signal fires, also where nobody answers. @module */
import { expect, test } from "vitest";
import { createCode } from "../../packages/sdk/code/code.ts";
import { createCommands } from "../../packages/sdk/commands/commands.ts";
import { handleOf } from "../../packages/sdk/commands/process.ts";
import { createFiles } from "../../packages/sdk/files/files.ts";
import { createFS } from "../../packages/sdk/files/fs.ts";
import type { CallOptions } from "../../packages/sdk/runtime/call.ts";
import { createRuntimeClient } from "../../packages/sdk/runtime/runtimeclient.ts";
import { createPTY } from "../../packages/sdk/pty.ts";
import { createPodTransport } from "../../packages/sdk/transport/direct.ts";
import type { TransportRequest } from "../../packages/sdk/transport/transport.ts";
import { OBJECT } from "./localtransport.ts";

/** The request is sent, and that is all. */
function unanswered(_port: number, _path: string, { signal }: TransportRequest = {}): Promise<Response> {
  const { promise, reject } = Promise.withResolvers<Response>();
  signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
  return promise;
}

const never = new Promise<never>(() => {});
const nowhere = createPodTransport(
  { kind: "direct", find: () => never, reach: () => never, close: () => Promise.resolve() },
  "default",
  "test",
);
const transport = { ...nowhere, fetch: unanswered };
const runtimeClient = createRuntimeClient(transport, OBJECT, undefined);
const commands = createCommands(runtimeClient);
const handle = handleOf(runtimeClient, 7, "run x");
const files = createFiles(runtimeClient);
const fs = createFS(files, OBJECT);
const code = createCode(runtimeClient);

const CALLS: Record<string, (options: CallOptions & { signal: AbortSignal }) => Promise<unknown>> = {
  "commands.run": (options) => commands.run("true", options),
  "commands.run in the background": (options) => commands.run("true", { ...options, background: true }),
  "commands.connect": (options) => commands.connect(7, options),
  "commands.list": (options) => commands.list(options),
  "commands.kill": (options) => commands.kill(7, options),
  "handle.wait": (options) => handle.wait(options),
  "handle.write": (options) => handle.write("x", options),
  "handle.closeStdin": (options) => handle.closeStdin(options),
  "handle.kill": (options) => handle.kill("SIGKILL", options),
  "handle.kill with another signal": (options) => handle.kill("SIGTERM", options),
  "pty.create": (options) => createPTY(runtimeClient).create({ cols: 80, rows: 24, ...options }),
  "runCode": (options) => code.runCode("1", options),
  "createCodeContext": (options) => code.createCodeContext(options),
  "listCodeContexts": (options) => code.listCodeContexts(options),
  "removeCodeContext": (options) => code.removeCodeContext("a", options),
  "restartCodeContext": (options) => code.restartCodeContext("a", options),
  "interruptCodeContext": (options) => code.interruptCodeContext("a", options),
  "files.read": (options) => files.read("a", options),
  "files.write": (options) => files.write("a", "x", options),
  "files.list": (options) => files.list("a", options),
  "files.stat": (options) => files.stat("a", options),
  "files.exists": (options) => files.exists("a", options),
  "files.makeDir": (options) => files.makeDir("a", options),
  "files.rename": (options) => files.rename("a", "b", options),
  "files.remove": (options) => files.remove("a", options),
  "files.watch": async (options) => await files.watch("a", options)[Symbol.asyncIterator]().next(),
  "files.watchDir": (options) => files.watchDir("a", () => {}, options),
  "fs.readFile": (options) => fs.readFile("a", options),
  "the way to the Pod": (options) => nowhere.address(80, options),
};

test.for(Object.entries(CALLS))("%s", async ([, call]) => {
  const leaving = new AbortController();
  const reason = new Error("left");
  const called = call({ signal: leaving.signal });
  // Not before it is under way.
  setTimeout(() => leaving.abort(reason), 20);
  await expect(called).rejects.toBe(reason);
});
