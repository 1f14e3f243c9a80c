/** Commands in sandboxes that have another runtime inside, or none. @module */
import { createServer } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { listenOn } from "../../../packages/process/connections.ts";
import { createCommands } from "../../../packages/sdk/commands/commands.ts";
import { ConnectionError, SandboxNotFoundError, TimeoutError, UnsupportedError } from "../../../packages/sdk/errors.ts";
import { createRuntimeClient } from "../../../packages/sdk/runtime/runtimeclient.ts";
import type { ExecRequest, SandboxTransport } from "../../../packages/sdk/transport/transport.ts";
import { makeRoot } from "../../runtime/folders.ts";
import { startTestRuntime } from "../../runtime/servers.ts";
import { localTransport, OBJECT } from "../localtransport.ts";

/** A server of nothing: 404 for everything. */
async function empty(headers: Record<string, string> = {}, body = "{}"): Promise<number> {
  const server = createServer((_, response) => response.writeHead(404, headers).end(body));
  onTestFinished(() => void server.close());
  return await listenOn(server, "127.0.0.1", 0);
}

/** A transport whose ports are these; all others are the first. */
function transportOf(ports: Record<number, number>, more: Partial<SandboxTransport> = {}): SandboxTransport {
  const byPort = (port: number) => localTransport(ports[port] ?? 0);
  return { ...localTransport(0), fetch: (port, path, request) => byPort(port).fetch(port, path, request), ...more };
}

test("through a router to a runtime that takes whole commands alone", async () => {
  const { root } = await makeRoot({ "sub/a": "" });
  const runtime = await startTestRuntime(root.path);
  onTestFinished(() => runtime.stop());
  const transport = transportOf({ 8080: await empty(), 8888: runtime.port });
  const commands = createCommands(createRuntimeClient(transport, OBJECT, undefined));
  expect(await commands.run('echo "it\'s $COLOUR"; ls; exit 3', { env: { COLOUR: "red" }, cwd: "sub" })).toEqual({
    exitCode: 3,
    signal: undefined,
    stdout: "it's red\na\n",
    stderr: "",
    truncated: false,
  });
  expect((await commands.run(["printf", "%s|", "a b", "$HOME", "'"])).stdout).toBe("a b|$HOME|'|");
  await expect(commands.run("cat", { stdin: "x" })).rejects.toBeInstanceOf(UnsupportedError);
  await expect(commands.run("sleep 5", { timeoutMs: 200 })).rejects.toBeInstanceOf(TimeoutError);
  const stop = new AbortController();
  const running = commands.run("sleep 5", { signal: stop.signal });
  stop.abort(new Error("enough"));
  await expect(running).rejects.toThrow("enough");
});

test("nothing takes commands", async () => {
  const port = await empty();
  const commands = createCommands(createRuntimeClient(transportOf({ 8080: port, 8888: port }), OBJECT, undefined));
  await expect(commands.run("true")).rejects.toThrow(/the sandbox has no runtime that runs commands/);
});

test("a router that knows no such sandbox is believed, whatever was there before", async () => {
  const gone = await empty(
    { "X-Sandbox-Reason": "SandboxNotFound" },
    '{"detail":"Cannot find sandbox default/test: it does not exist"}',
  );
  const fresh = createRuntimeClient(transportOf({ 8080: gone, 8888: gone }, { kind: "router" }), OBJECT, undefined);
  const used = createRuntimeClient(
    transportOf({ 8080: await empty(), 8888: gone }, { kind: "router" }),
    OBJECT,
    undefined,
  );
  for (const runtimeClient of [fresh, used]) {
    const error = await createCommands(runtimeClient).run("true").catch((error) => error);
    expect(error).toBeInstanceOf(SandboxNotFoundError);
    expect(error).toMatchObject({
      code: "NOT_FOUND",
      reason: "SandboxNotFound",
      message: "Cannot find sandbox default/test: it does not exist",
    });
  }
});

test("where the API server is at hand it runs them, also where nobody listens; the runtime is asked for once", async () => {
  const asked: ExecRequest[] = [];
  let probes = 0;
  const exec: SandboxTransport["exec"] = (request) => {
    asked.push(request);
    const events = (async function* () {
      yield { type: "output" as const, stream: "stdout" as const, bytes: new TextEncoder().encode("out") };
      yield { type: "end" as const, exitCode: 2 };
    })();
    return Promise.resolve({
      events,
      write: async () => {},
      closeStdin: async () => {},
      resize: async () => {},
      close: () => {},
    });
  };
  const fetch: SandboxTransport["fetch"] = () => {
    probes++;
    return Promise.reject(new ConnectionError("Cannot reach it", { mayHaveArrived: false }));
  };
  const commands = createCommands(createRuntimeClient(transportOf({}, { exec, fetch }), OBJECT, undefined));
  const options = { env: { A: "1" }, cwd: "/tmp" };
  expect(await commands.run(["id", "-u"], options)).toMatchObject({ exitCode: 2, stdout: "out" });
  expect(asked[0]?.command).toEqual(["/bin/sh", "-c", 'cd "$0" && exec "$@"', "/tmp", "env", "A=1", "id", "-u"]);
  const before = probes;
  await commands.run("true");
  expect(probes).toBe(before);
  expect(await commands.run("true", { timeoutMs: Infinity })).toMatchObject({ exitCode: 2 });
});
