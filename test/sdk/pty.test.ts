/** sandbox.pty, against a real runtime. @module */
import { expect, test } from "vitest";
import { createCommands } from "../../packages/sdk/commands/commands.ts";
import { createPTY } from "../../packages/sdk/pty.ts";
import { eventually } from "../eventually.ts";
import { aSandbox } from "./localtransport.ts";

test("a terminal: what is typed, what it shows, its size, its end", async () => {
  const { runtimeClient } = await aSandbox();
  let shown = "";
  const decoder = new TextDecoder();
  const terminal = await createPTY(runtimeClient).create({
    cols: 81,
    rows: 25,
    command: ["/bin/sh"],
    env: { PS1: "> " },
    onData: (bytes) => void (shown += decoder.decode(bytes, { stream: true })),
  });
  await expect(terminal.wait({ signal: AbortSignal.abort(new Error("left")) })).rejects.toThrow("left");
  await terminal.write("stty size\n");
  await eventually(() => shown).toContain("25 81");
  await terminal.resize({ cols: 100, rows: 30 });
  await terminal.write("stty size; exit 5\n");
  expect(await terminal.wait()).toEqual({ exitCode: 5 });
  expect(shown).toContain("30 100");
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
