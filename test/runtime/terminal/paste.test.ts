/** A terminal whose program does not read: what is typed waits, and nothing else does. @module */
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { WebSocket } from "ws";
import { startTerminal } from "../../../packages/runtime/processes/terminal.ts";
import { eventually } from "../../eventually.ts";
import { startMain } from "../../mainprocess.ts";
import { makeRoot } from "../folders.ts";
import { startTestRuntime } from "../servers.ts";
import { FREE_PORTS } from "../freeports.ts";

const LINE = Buffer.from("echo a pasted line of text, and more\n");
const LINES = 5500;

/** Joins a terminal; `seen` grows as frames come. */
async function join(port: number, command: string, more: Record<string, string> = {}) {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/v1/terminal?${new URLSearchParams({ command, ...more })}`);
  onTestFinished(() => socket.terminate());
  const seen = { text: "", last: "" };
  socket.on("message", (data, isBinary) => isBinary ? seen.text += data : seen.last = String(data));
  const closed = new Promise<number>((resolve) => socket.on("close", resolve));
  await new Promise((resolve) => socket.once("message", resolve));
  return { socket, seen, closed };
}

test("a paste into a program that does not read holds up no other request, nor the exit", async () => {
  const { root, at } = await makeRoot();
  // A process of its own: one that hangs would take the test along.
  const ports = ["--host", "127.0.0.1", ...FREE_PORTS];
  const args = ["packages/runtime/main.ts", "--root", root.path, ...ports];
  const { said } = await startMain("node", args, "Listening");
  const port = Number(said("Listening")[0]?.["restPort"]);
  const { socket, seen, closed } = await join(port, `until [ -e ${at("go")} ]; do sleep 0.1; done; echo finished`);
  for (let line = 0; line < LINES; line++) socket.send(LINE);
  for (let look = 0; look < 10; look++) {
    const health = await fetch(`http://127.0.0.1:${port}/v1/health`, { signal: AbortSignal.timeout(10_000) });
    expect(health.status).toBe(200);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  expect(seen.last).toContain("process");
  writeFileSync(at("go"), "");
  expect(await closed).toBe(1000);
  expect(seen.last).toBe('{"exit":{"exitCode":0,"signal":""}}');
  expect(seen.text).toContain("finished");
});

test("what waits is typed whole once the program reads", async () => {
  const size = { cols: 80, rows: 24 };
  const script = "stty raw -echo; echo ready; sleep 0.5; head -c 1000000 | md5sum";
  const terminal = await startTerminal({ argv: ["/bin/sh", "-c", script], cwd: "/", env: {} }, size);
  await new Promise((resolve) => terminal.stdout.once("data", resolve));
  const typed = Buffer.alloc(1_000_000, LINE);
  terminal.stdin.write(typed);
  expect(await text(terminal.stdout)).toContain(createHash("md5").update(typed).digest("hex"));
});

test("a paste that is answered arrives though its reader has a window", async () => {
  const { root } = await makeRoot();
  const runtime = await startTestRuntime(root.path);
  onTestFinished(() => runtime.stop());
  const { socket, seen } = await join(runtime.restPort, "stty raw -echo; echo ready; exec cat", { window: "20000" });
  await eventually(() => seen.text).toContain("ready");
  const before = seen.text.length;
  socket.on("message", () => socket.send(JSON.stringify({ taken: { bytes: seen.text.length } })));
  // More than the sockets between them hold.
  const part = Buffer.alloc(50_000, LINE);
  for (let parts = 0; parts < 300; parts++) socket.send(part);
  await eventually(() => seen.text.length).toBe(before + 300 * part.length);
});

describe("pings", () => {
  async function aRuntime() {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    onTestFinished(() => void vi.useRealTimers());
    const { root } = await makeRoot();
    const runtime = await startTestRuntime(root.path);
    onTestFinished(() => runtime.stop());
    return runtime;
  }

  test("a socket that is not read from is not judged by the answers that wait in it", async () => {
    const runtime = await aRuntime();
    const { socket, seen, closed } = await join(runtime.restPort, "sleep 2; echo finished");
    for (let line = 0; line < LINES; line++) socket.send(LINE);
    for (let ping = 0; ping < 5; ping++) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      vi.advanceTimersByTime(30_000);
    }
    expect(await closed).toBe(1000);
    expect(seen.text).toContain("finished");
  });

  test("one whose other side says nothing ends", async () => {
    const runtime = await aRuntime();
    const { socket, closed } = await join(runtime.restPort, "sleep 300");
    socket.pause();
    for (let ping = 0; ping < 3; ping++) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      vi.advanceTimersByTime(30_000);
    }
    socket.resume();
    expect(await closed).toBe(1006);
  });
});
