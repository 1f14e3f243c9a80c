/** process.v1.ProcessService over gRPC: every code, and whose end a process shares. @module */
import { Code, createClient } from "@connectrpc/connect";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ProcessService, Signal, type StartResponse } from "../../../packages/runtime-api/gen/process/v1/process_pb.ts";
import { aServer, decode, encode, shell } from "./serving.ts";
import { eventually } from "../../eventually.ts";

async function aClient() {
  const server = await aServer();
  return { ...server, client: createClient(ProcessService, server.transport) };
}

/** What a stream said: each output as text, and the exit code. */
async function collect(events: AsyncIterable<StartResponse>) {
  const all = { stdout: "", stderr: "", exitCode: undefined as number | undefined };
  for await (const { event } of events) {
    if (event.case === "stdout" || event.case === "stderr") all[event.case] += decode(event.value);
    if (event.case === "exit") all.exitCode = event.value.exitCode;
  }
  return all;
}

async function begin(events: AsyncIterable<StartResponse>): Promise<[number, AsyncIterable<StartResponse>]> {
  const iterator = events[Symbol.asyncIterator]();
  const { value } = await iterator.next();
  return [value?.event.value.processId, { [Symbol.asyncIterator]: () => iterator }];
}

test("Execute answers with both streams and the exit code, in cwd and with env", async () => {
  const { client, root } = await aClient();
  mkdirSync(join(root, "in"));
  const config = shell('echo "$X $(pwd)"; echo bad >&2; exit 3', { cwd: "in", envVars: { X: "y" } });
  const { stdout, stderr, exitCode } = await client.execute({ config });
  expect([decode(stdout), decode(stderr), exitCode]).toEqual([`y ${root}/in\n`, "bad\n", 3]);
});

test("cwd may be an absolute path inside the root; absent and empty are the root", async () => {
  const { client, root } = await aClient();
  for (const cwd of [root, "", "."]) {
    expect(decode((await client.execute({ config: shell("pwd", { cwd }) })).stdout)).toBe(`${root}\n`);
  }
});

test("a signalled process has exit code -1", async () => {
  const { client } = await aClient();
  expect(await client.execute({ config: shell("kill -9 $$") })).toMatchObject({ exitCode: -1 });
  expect(await collect(client.start({ config: shell("kill -9 $$") }))).toMatchObject({ exitCode: -1 });
});

test.for([
  { name: "no config", config: undefined, code: Code.InvalidArgument },
  { name: "an empty command", config: { command: [] }, code: Code.InvalidArgument },
  { name: "a variable with =", config: shell("true", { envVars: { "A=B": "" } }), code: Code.InvalidArgument },
  { name: "a missing binary", config: { command: ["no-such-program-here"] }, code: Code.NotFound },
  { name: "a file that is not executable", config: { command: ["./plain"] }, code: Code.PermissionDenied },
  { name: "cwd above the root", config: shell("true", { cwd: ".." }), code: Code.PermissionDenied },
  { name: "cwd outside the root", config: shell("true", { cwd: "/" }), code: Code.PermissionDenied },
  { name: "cwd through a link that leads out", config: shell("true", { cwd: "link" }), code: Code.PermissionDenied },
  { name: "a missing cwd", config: shell("true", { cwd: "missing" }), code: Code.NotFound },
  { name: "cwd that is a file", config: shell("true", { cwd: "plain" }), code: Code.InvalidArgument },
])("$name: the same code from Execute, Start, and Start with a terminal", async ({ config, code }) => {
  const { client, root } = await aClient();
  writeFileSync(join(root, "plain"), "", { mode: 0o644 });
  symlinkSync("/etc", join(root, "link"));
  const request = config ? { config } : {};
  await expect(client.execute(request)).rejects.toMatchObject({ code });
  await expect(collect(client.start(request))).rejects.toMatchObject({ code });
  await expect(collect(client.start({ ...request, pty: { cols: 80, rows: 24 } }))).rejects.toMatchObject({ code });
});

test("the deadline of Execute kills the process, and what it started", async () => {
  const { client, processes } = await aClient();
  const call = client.execute({ config: shell("sleep 300 & sleep 300") }, { timeoutMs: 300 });
  await expect(call).rejects.toMatchObject({ code: Code.DeadlineExceeded });
  await eventually(() => processes.list()).toEqual([]);
});

test("a caller of Execute that leaves takes the process along", async () => {
  const { client, processes } = await aClient();
  const leave = new AbortController();
  const call = client.execute({ config: shell("sleep 300") }, { signal: leave.signal });
  await eventually(() => processes.list().length).toBe(1);
  leave.abort();
  await expect(call).rejects.toMatchObject({ code: Code.Canceled });
  await eventually(() => processes.list()).toEqual([]);
});

test("more output than an answer may hold ends the process", async () => {
  const { client } = await aClient();
  await expect(client.execute({ config: shell("cat /dev/zero") })).rejects.toMatchObject({
    code: Code.ResourceExhausted,
  });
});

test("Start streams what comes, and the end", async () => {
  const { client } = await aClient();
  const [pid, events] = await begin(client.start({ config: shell("echo $$; echo bad >&2; exit 4") }));
  expect(await collect(events)).toEqual({ stdout: `${pid}\n`, stderr: "bad\n", exitCode: 4 });
});

test("WriteStdin writes and closes", async () => {
  const { client } = await aClient();
  const [processId, events] = await begin(client.start({ config: { command: ["cat"] } }));
  await client.writeStdin({ processId, payload: { case: "input", value: encode("typed") } });
  await client.writeStdin({ processId, payload: { case: "eof", value: {} } });
  const late = client.writeStdin({ processId, payload: { case: "input", value: encode("late") } });
  await expect(late).rejects.toMatchObject({ code: expect.toBeOneOf([Code.FailedPrecondition, Code.NotFound]) });
  expect(await collect(events)).toMatchObject({ stdout: "typed", exitCode: 0 });
});

test("SendSignal reaches the whole group", async () => {
  const { client } = await aClient();
  const script =
    "trap 'echo leader; wait; exit 5' TERM; sh -c 'trap \"echo child; exit\" TERM; echo up; sleep 300 & wait' & wait";
  const [processId, events] = await begin(client.start({ config: shell(script) }));
  const iterator = events[Symbol.asyncIterator]();
  await iterator.next();
  await client.sendSignal({ processId, signal: Signal.SIGTERM });
  const { stdout, exitCode } = await collect({ [Symbol.asyncIterator]: () => iterator });
  expect([stdout.split("\n").sort(), exitCode]).toEqual([["", "child", "leader"], 5]);
});

test("a terminal has its size, and ResizeTTY changes it", async () => {
  const { client } = await aClient();
  const config = shell("stty size; trap 'stty size; exit' WINCH; echo ready; while :; do sleep 0.05; done");
  const [processId, events] = await begin(client.start({ config, pty: { cols: 91, rows: 33 } }));
  let stdout = "";
  for await (const { event } of events) {
    if (event.case === "stdout") stdout += decode(event.value);
    if (stdout.endsWith("ready\r\n")) await client.resizeTTY({ processId, cols: 50, rows: 20 });
  }
  expect(stdout).toBe("33 91\r\nready\r\n20 50\r\n");
});

test.for(
  [
    { name: "WriteStdin without payload", call: "writeStdin", more: {}, code: Code.InvalidArgument },
    { name: "SendSignal of none", call: "sendSignal", more: {}, code: Code.InvalidArgument },
    { name: "SendSignal of 1", call: "sendSignal", more: { signal: 1 as Signal }, code: Code.InvalidArgument },
    {
      name: "ResizeTTY without a terminal",
      call: "resizeTTY",
      more: { cols: 1, rows: 1 },
      code: Code.FailedPrecondition,
    },
  ] as const,
)("$name is refused", async ({ call, more, code }) => {
  const { client } = await aClient();
  const [processId] = await begin(client.start({ config: shell("sleep 300") }));
  await expect(client[call]({ processId, ...more })).rejects.toMatchObject({ code });
  await expect(client[call]({ processId: 2 ** 31 - 1, ...more })).rejects.toMatchObject({ code: Code.NotFound });
});

test("a terminal without size is refused", async () => {
  const { client } = await aClient();
  const call = collect(client.start({ config: shell("true"), pty: { cols: 0, rows: 24 } }));
  await expect(call).rejects.toMatchObject({ code: Code.InvalidArgument });
});

test("a caller of Start that leaves takes the process along, and so does its deadline", async () => {
  const { client, processes } = await aClient();
  const leave = new AbortController();
  await begin(client.start({ config: shell("sleep 300 & wait") }, { signal: leave.signal }));
  expect(processes.list().length).toBe(1);
  leave.abort();
  await eventually(() => processes.list()).toEqual([]);
  const late = collect(client.start({ config: shell("sleep 300") }, { timeoutMs: 300 }));
  await expect(late).rejects.toMatchObject({ code: Code.DeadlineExceeded });
  await eventually(() => processes.list()).toEqual([]);
});

test("a slow caller holds the process up: memory stays flat", async () => {
  const { client, processes } = await aClient();
  const events = client.start({ config: shell("head -c 40000000 /dev/zero; echo done >&2") })[Symbol.asyncIterator]();
  await events.next();
  await events.next();
  await eventually(() => processes.list()[0]?.running.stdout.isPaused()).toBe(true);
  expect((await collect({ [Symbol.asyncIterator]: () => events })).stderr).toBe("done\n");
});
