/** E2B's commands as bytes: what its published clients do not show. @module */
import { Buffer } from "node:buffer";
import { readFileSync } from "node:fs";
import process from "node:process";
import { expect, test } from "vitest";
import { eventually } from "../../eventually.ts";
import { send } from "../servers.ts";
import { allOf, nextOf, openStream } from "./frames.ts";
import { startSandbox } from "./sandbox.ts";

const START = "/process.Process/Start";
const CONNECT = "/process.Process/Connect";

function bash(script: string, more: object = {}) {
  return { process: { cmd: "/bin/bash", args: ["-c", script] }, stdin: false, ...more };
}

function encoded(text: string): string {
  return Buffer.from(text).toString("base64");
}

/** Calls a method, and returns its status and body. */
async function call(port: number, method: string, body: object) {
  const { status, text, headers } = await send(port, "POST", `/process.Process/${method}`, {
    headers: { "Content-Type": "application/json", "Connect-Protocol-Version": "1" },
    body: JSON.stringify(body),
  });
  return { status, type: headers["content-type"], body: JSON.parse(text) };
}

test("Start answers with a start, the output and the end, as frames without compression", async () => {
  const { port } = await startSandbox();
  // Two slashes: the base URL of some clients ends in one.
  const stream = await openStream(port, `/${START}`, [bash("echo hi")]);
  expect(stream.status).toBe(200);
  expect(stream.headers).toMatchObject({ "content-type": "application/connect+json" });
  expect(stream.headers).not.toHaveProperty("content-encoding");
  expect(await allOf(stream)).toEqual([
    { flag: 0, message: { event: { start: { pid: expect.any(Number) } } } },
    { flag: 0, message: { event: { data: { stdout: encoded("hi\n") } } } },
    { flag: 0, message: { event: { end: { exited: true, status: "exit status 0" } } } },
    { flag: 2, message: {} },
  ]);
  const end = async (script: string) => (await allOf(await openStream(port, START, [bash(script)]))).at(-2)!.message;
  expect(await end("exit 3")).toEqual({
    event: { end: { exitCode: 3, exited: true, status: "exit status 3", error: "exit status 3" } },
  });
  expect(await end("kill -KILL $$")).toEqual({
    event: { end: { exitCode: -1, status: "signal: killed", error: "signal: killed" } },
  });
});

test("what cannot be started is an error before the start", async () => {
  const { port } = await startSandbox();
  const errorOf = async (request: object, headers = {}) => {
    const frames = await allOf(await openStream(port, START, [request], headers));
    expect(frames).toHaveLength(1);
    return frames[0]!.message.error;
  };
  expect(await errorOf({ process: { cmd: "/no/such" } })).toMatchObject({ code: "invalid_argument" });
  expect(await errorOf({ process: { cmd: "" } })).toMatchObject({ code: "invalid_argument" });
  expect(await errorOf({ process: { cmd: "/no/such" }, pty: {} })).toMatchObject({ code: "invalid_argument" });
  expect(await errorOf({ process: { cmd: "true", cwd: "/no" } }))
    .toEqual({ code: "invalid_argument", message: "cwd '/no' does not exist" });
  const unknown = { Authorization: `Basic ${encoded("no-such-user:")}` };
  expect(await errorOf(bash("true"), unknown))
    .toEqual({ code: "unauthenticated", message: "invalid username: 'no-such-user'" });
});

test("output arrives in pieces of at most 32 KiB, and a silent stream gets keepalives", async () => {
  const { port } = await startSandbox();
  const stream = await openStream(port, START, [
    bash("head -c 300000 /dev/zero; echo end >&2; read x", { stdin: true }),
  ], {
    "Keepalive-Ping-Interval": "1",
  });
  const { pid } = (await nextOf(stream)).message.event.start;
  let [bytes, longest, kept] = [0, 0, 0];
  for await (const { message: { event } } of stream.frames) {
    const length = Buffer.from(event.data?.stdout ?? "", "base64").length;
    bytes += length;
    longest = Math.max(longest, length);
    if (!event.keepalive) continue;
    expect(event).toEqual({ keepalive: {} });
    if (++kept === 2) break;
  }
  expect([bytes, longest <= 32 * 1024, kept]).toEqual([300_000, true, 2]);
  expect((await call(port, "SendSignal", { process: { pid }, signal: "SIGNAL_SIGKILL" })).status).toBe(200);
});

test("a process that its clients do not read waits, and a process without clients does not", async () => {
  const { port, home } = await startSandbox();
  const script = "for i in {1..400}; do head -c 65536 /dev/zero; echo $i > done; done";
  const stream = await openStream(port, START, [bash(script)]);
  const count = () => Number(readFileSync(`${home}/done`, "utf8"));
  // Nobody reads the frames, so what the kernel and the runtime hold for the connection is all that can be written.
  let before = -1;
  await eventually(() => {
    const [last, now] = [before, count()];
    before = now;
    return now === last && now;
  }).toBeGreaterThan(0);
  expect(count()).toBeLessThan(400);
  stream.leave();
  await eventually(count).toBe(400);
});

test("children that keep the output open hold the end back, until a signal", async () => {
  const { port } = await startSandbox();
  const stream = await openStream(port, START, [bash("sleep 1000 & echo $!")]);
  const { pid } = (await nextOf(stream)).message.event.start;
  const child = Number(Buffer.from((await nextOf(stream)).message.event.data.stdout, "base64").toString());
  await eventually(() => readFileSync(`/proc/${child}/status`, "utf8")).not.toMatch(`PPid:\t${pid}\n`);
  expect((await call(port, "List", {})).body.processes).toMatchObject([{ pid }]);
  expect((await call(port, "SendSignal", { process: { pid }, signal: "SIGNAL_SIGTERM" })).status).toBe(200);
  expect(await nextOf(stream)).toMatchObject({
    message: { event: { end: { exited: true, status: "exit status 0" } } },
  });
  // The signal was for one process.
  expect(readFileSync(`/proc/${child}/comm`, "utf8")).toBe("sleep\n");
  process.kill(child);
});

test("several clients get all output, by pid or by tag, from the moment they connect", async () => {
  const { port } = await startSandbox();
  const script = "read x; echo one $x; read x; echo two $x";
  const first = await openStream(port, START, [bash(script, { stdin: true, tag: "job" })]);
  const { pid } = (await nextOf(first)).message.event.start;
  expect((await call(port, "List", {})).body).toEqual({
    processes: [{ config: { cmd: "/bin/bash", args: ["-c", script] }, pid, tag: "job" }],
  });
  const input = (text: string) => ({ process: { tag: "job" }, input: { stdin: encoded(text) } });
  expect(await call(port, "SendInput", input("a\n"))).toEqual({ status: 200, type: "application/json", body: {} });
  expect((await nextOf(first)).message).toEqual({ event: { data: { stdout: encoded("one a\n") } } });
  const second = await openStream(port, CONNECT, [{ process: { tag: "job" } }]);
  expect((await nextOf(second)).message).toEqual({ event: { start: { pid } } });
  const stream = await openStream(port, "/process.Process/StreamInput", [
    { start: { process: { pid } } },
    { keepalive: {} },
    { data: { input: { stdin: encoded("b") } } },
    { data: { input: { stdin: encoded("c\n") } } },
  ]);
  expect(stream.headers["content-type"]).toBe("application/connect+json");
  expect(await allOf(stream)).toEqual([{ flag: 0, message: {} }, { flag: 2, message: {} }]);
  for (const one of [first, second]) {
    expect((await allOf(one)).map(({ message }) => message)).toEqual([
      { event: { data: { stdout: encoded("two bc\n") } } },
      { event: { end: { exited: true, status: "exit status 0" } } },
      {},
    ]);
  }
  const late = await allOf(await openStream(port, CONNECT, [{ process: { pid } }]));
  expect(late.map(({ message }) => Object.keys(message.event ?? {}))).toEqual([["start"], ["end"], []]);
});

test("calls that cannot be carried out have the codes that clients expect", async () => {
  const { port } = await startSandbox();
  const plain = await openStream(port, START, [bash("sleep 1000")]);
  const { pid } = (await nextOf(plain)).message.event.start;
  const terminal = await openStream(port, START, [bash("sleep 1000", { pty: { size: { cols: 80, rows: 24 } } })]);
  const { pid: tty } = (await nextOf(terminal)).message.event.start;
  const codeOf = async (method: string, body: object) => (await call(port, method, body)).body.code;
  const ask = (process: number, more: object) => ({ process: { pid: process }, ...more });
  const stdin = { input: { stdin: encoded("x") } };
  const size = { pty: { size: { cols: 1, rows: 1 } } };
  expect(
    await Promise.all([
      codeOf("SendInput", ask(1, stdin)),
      codeOf("SendInput", ask(pid, stdin)),
      codeOf("SendInput", ask(tty, stdin)),
      codeOf("SendInput", ask(pid, { input: { pty: encoded("x") } })),
      codeOf("CloseStdin", ask(tty, {})),
      codeOf("CloseStdin", ask(pid, {})),
      codeOf("Update", ask(pid, size)),
      codeOf("Update", ask(tty, size)),
      codeOf("SendSignal", ask(pid, { signal: "SIGNAL_UNSPECIFIED" })),
      codeOf("SendSignal", ask(1, { signal: "SIGNAL_SIGKILL" })),
      codeOf("Update", {}),
    ]),
  ).toEqual([
    ...["not_found", "internal", "internal", "internal", "unknown", undefined],
    ...["internal", undefined, "unimplemented", "not_found", "invalid_argument"],
  ]);
  expect((await call(port, "SendInput", ask(1, stdin))).status).toBe(404);
  expect((await call(port, "None", {})).body).toEqual({ code: 404, message: "there is no POST /process.Process/None" });
  for (const process of [pid, tty]) await call(port, "SendSignal", ask(process, { signal: "SIGNAL_SIGKILL" }));
  const ended = (await allOf(terminal)).find(({ message }) => message.event?.end);
  expect(ended?.message.event.end).toMatchObject({ exitCode: -1, error: "signal: killed" });
});

test("the deadline of Start ends the process, and its stream with deadline_exceeded", async () => {
  const { port } = await startSandbox();
  const stream = await openStream(port, START, [bash("sleep 1000")], { "Connect-Timeout-Ms": "1500" });
  const { pid } = (await nextOf(stream)).message.event.start;
  const other = await openStream(port, CONNECT, [{ process: { pid } }]);
  expect((await allOf(stream)).at(-1)).toMatchObject({ flag: 2, message: { error: { code: "deadline_exceeded" } } });
  expect((await allOf(other)).at(-2)?.message.event.end).toMatchObject({ error: "signal: killed" });
});

test("when the runtime stops, health says so as E2B's proxy does, and streams are cut", async () => {
  const { runtime, port } = await startSandbox("--shutdown-timeout", "300ms");
  const stream = await openStream(port, START, [bash("sleep 1000")]);
  await nextOf(stream);
  const stopping = runtime.stop();
  const { status, text } = await send(port, "GET", "/health", { headers: { "E2b-Sandbox-Id": "iabc" } });
  expect([status, JSON.parse(text)]).toEqual([
    502,
    { sandboxId: "iabc", message: "The sandbox was not found", code: 502 },
  ]);
  await expect(allOf(stream)).rejects.toThrow("aborted");
  await stopping;
});
