/** sandbox.pty, against a real runtime. @module */
import { createRouterTransport } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { ProcessesService } from "../../packages/runtime-api/gen/hookbox/runtime/v1/processes_pb.ts";
import { ProcessService } from "../../packages/runtime-api/gen/process/v1/process_pb.ts";
import { createCommands } from "../../packages/sdk/commands/commands.ts";
import { createPTY } from "../../packages/sdk/pty.ts";
import { eventually } from "../eventually.ts";
import { aSandbox } from "./localtransport.ts";

test("a terminal: what is typed, what it shows, its size, its end", async () => {
  const { runtimeClient } = await aSandbox();
  let shown = "";
  const others: unknown[] = [];
  const decoder = new TextDecoder();
  const terminal = await createPTY(runtimeClient).create({
    cols: 81,
    rows: 25,
    command: ["/bin/sh"],
    env: { PS1: "> " },
    onData: (bytes, ...more: unknown[]) => {
      shown += decoder.decode(bytes, { stream: true });
      others.push(...more);
    },
  });
  await expect(terminal.wait({ signal: AbortSignal.abort(new Error("left")) })).rejects.toThrow("left");
  await terminal.write("stty size\n");
  await eventually(() => shown).toContain("25 81");
  await terminal.resize({ cols: 100, rows: 30 });
  await terminal.write("stty size; exit 5\n");
  expect(await terminal.wait()).toEqual({ exitCode: 5 });
  expect(shown).toContain("30 100");
  // A second argument would look like isPast of connect: the dashboard would drop what the user types.
  expect(others).toEqual([]);
  expect(await terminal.kill()).toBe(false);
});

test("Ctrl-C ends what runs in it, also in a flood", async () => {
  const { runtimeClient } = await aSandbox();
  let bytes = 0;
  const terminal = await createPTY(runtimeClient).create({
    cols: 80,
    rows: 24,
    command: "yes; echo no more",
    onData: (data) => void (bytes += data.length),
  });
  await eventually(() => bytes).toBeGreaterThan(100_000);
  await terminal.write("\x03");
  expect((await terminal.wait()).exitCode).not.toBe(0);
});

test("a shell has the PATH that commands have, whatever /etc/profile says", async () => {
  const { runtimeClient, root } = await aSandbox();
  const { stdout } = await createCommands(runtimeClient).run("echo $PATH");
  let shown = "";
  const onData = (bytes: Uint8Array) => void (shown += new TextDecoder().decode(bytes));
  const terminal = await createPTY(runtimeClient).create({ cols: 4000, rows: 24, onData, env: { HOME: root.path } });
  await terminal.write("echo [$PATH]; exit\n");
  await terminal.wait();
  expect(shown).toContain(`[${stdout.trim()}]`);
});

test("a terminal in the background outlives its client, and can be opened again with what it has shown", async () => {
  const { runtimeClient } = await aSandbox();
  const pty = createPTY(runtimeClient);
  const leaving = new AbortController();
  let first = "";
  const before = await pty.create({
    cols: 80,
    rows: 24,
    command: ["/bin/sh"],
    env: { PS1: "> " },
    background: true,
    signal: leaving.signal,
    onData: (bytes) => void (first += new TextDecoder().decode(bytes)),
  });
  await before.write("mine=kept; echo $((40+2))\n");
  await eventually(() => first).toContain("42");
  leaving.abort(new Error("left"));
  await expect(before.wait()).rejects.toThrow("left");
  const shown = { past: "", new: "" };
  const again = await pty.connect(before.processId!, {
    requestId: before.requestId,
    cols: 90,
    rows: 30,
    onData: (bytes, isPast) => void (shown[isPast ? "past" : "new"] += new TextDecoder().decode(bytes)),
  });
  await eventually(() => shown.past).toContain("42");
  await again.write("stty size; echo $mine; exit 3\n");
  expect(await again.wait()).toEqual({ exitCode: 3 });
  expect(shown.new).toContain("30 90");
  expect(shown.new).toContain("kept");
  await expect(pty.connect(before.processId!, { cols: 80, rows: 24 })).rejects.toThrow("no program runs in it");
});

test("a terminal that is not in the background ends with its client", async () => {
  const { runtimeClient } = await aSandbox();
  const leaving = new AbortController();
  const { processId } = await createPTY(runtimeClient).create({ cols: 80, rows: 24, signal: leaving.signal });
  leaving.abort();
  const commands = createCommands(runtimeClient);
  await eventually(async () =>
    (await commands.list()).find((one) => one.processId === processId && one.exitCode === undefined)
  ).toBeUndefined();
});

test("after a restart of the sandbox, the terminal of another program with the same process id is not opened", async () => {
  const { runtimeClient } = await aSandbox();
  const asked: string[] = [];
  let requestId = "before";
  const connectTransport = createRouterTransport(({ service }) => {
    service(ProcessService, { resizeTTY: () => ({}) });
    service(ProcessesService, {
      list: () => ({ processes: [{ processId: 7, terminal: true, requestId }] }),
      attach: async function* (request) {
        asked.push(request.requestId);
        requestId = "after";
        // The connection breaks once.
        if (asked.length > 1) yield { event: { case: "end" as const, value: { exitCode: 0 } } };
      },
    });
  });
  const client = { ...runtimeClient, connectTransport };
  const pty = createPTY(client);
  const [shell] = await createCommands(client).list();
  const opened = await pty.connect(7, { requestId: shell?.requestId, cols: 80, rows: 24 });
  await opened.wait();
  expect(asked).toEqual(["before", "before"]);
  await expect(pty.connect(7, { requestId: opened.requestId, cols: 80, rows: 24 })).rejects.toThrow(
    "its program has ended, or the sandbox was restarted",
  );
  await expect(pty.connect(7, { cols: 80, rows: 24 })).resolves.toMatchObject({ requestId: "after" });
});
