/** Commands and terminals by E2B's published client, against the runtime. @module */
import { realpathSync } from "node:fs";
import { CommandExitError, InvalidArgumentError, NotFoundError, TimeoutError } from "e2b";
import { expect, test } from "vitest";
import { eventually } from "../../eventually.ts";
import { send } from "../servers.ts";
import { ID, startSandbox } from "./sandbox.ts";

test("run() runs a command in the home directory, in the sandbox's environment", async () => {
  const { sandbox, home } = await startSandbox();
  expect(await sandbox.isRunning()).toBe(true);
  const { stdout, stderr, exitCode, error } = await sandbox.commands.run(
    'pwd; echo "$E2B_SANDBOX $E2B_SANDBOX_ID $A $HOME"; [ -n "$USER" ] && [ -n "$LOGNAME" ]; echo $?; echo no >&2',
    { envs: { A: "1" } },
  );
  expect({ stdout, stderr, exitCode, error }).toEqual({
    stdout: `${realpathSync(home)}\ntrue ${ID} 1 ${home}\n0\n`,
    stderr: "no\n",
    exitCode: 0,
    error: undefined,
  });
});

test("run() fails as the command does", async () => {
  const { sandbox } = await startSandbox();
  const failed = await sandbox.commands.run("echo out; echo err >&2; exit 3").catch((error) => error);
  expect(failed).toBeInstanceOf(CommandExitError);
  expect(failed).toMatchObject({ exitCode: 3, error: "exit status 3", stdout: "out\n", stderr: "err\n" });
  await expect(sandbox.commands.run("no-such-program")).rejects.toMatchObject({ exitCode: 127 });
  await expect(sandbox.commands.run("kill -TERM $$")).rejects.toMatchObject({
    exitCode: -1,
    error: "signal: terminated",
  });
  await expect(sandbox.commands.run("true", { cwd: "/no/such" })).rejects.toThrow(InvalidArgumentError);
  await expect(sandbox.commands.run("true", { cwd: "/no/such" })).rejects.toThrow("cwd '/no/such' does not exist");
});

test("a command goes on when its client disconnects, and another one connects to it", async () => {
  const { sandbox } = await startSandbox();
  const command = await sandbox.commands.run("read line; echo got $line; read line; echo $line", {
    background: true,
    stdin: true,
    envs: { B: "2" },
  });
  await sandbox.files.makeDir("in");
  const other = await sandbox.commands.run("sleep 1000", { background: true, cwd: "in" });
  expect(await sandbox.commands.list()).toEqual([
    { pid: command.pid, cmd: "/bin/bash", args: ["-l", "-c", expect.stringContaining("read")], envs: { B: "2" } },
    { pid: other.pid, cmd: "/bin/bash", args: ["-l", "-c", "sleep 1000"], envs: {}, cwd: "in" },
  ]);
  await command.disconnect();
  const seen: string[] = [];
  const again = await sandbox.commands.connect(command.pid, { onStdout: (text) => void seen.push(text) });
  await sandbox.commands.sendStdin(command.pid, "one\n");
  await eventually(() => seen.join("")).toBe("got one\n");
  await again.sendStdin(new TextEncoder().encode("two\n"));
  expect(await again.wait()).toMatchObject({ stdout: "got one\ntwo\n", exitCode: 0 });
  // For half a minute, a client still learns how it ended.
  expect(await (await sandbox.commands.connect(command.pid)).wait()).toMatchObject({ exitCode: 0, stdout: "" });
  expect((await sandbox.commands.list()).map(({ pid }) => pid)).toEqual([other.pid]);
  expect(await other.kill()).toBe(true);
  await expect(other.wait()).rejects.toMatchObject({ exitCode: -1, error: "signal: killed" });
  expect(await sandbox.commands.kill(other.pid)).toBe(false);
  await expect(sandbox.commands.connect(999_999)).rejects.toThrow(NotFoundError);
  await expect(sandbox.commands.sendStdin(999_999, "x")).rejects.toThrow(NotFoundError);
});

test("a command and its clients keep the sandbox awake", async () => {
  const { sandbox, runtime } = await startSandbox();
  const activity = async () => {
    const { running, terminals, streams } = JSON.parse((await send(runtime.restPort, "GET", "/v1/activity")).text);
    return [running, terminals, streams];
  };
  expect(await activity()).toEqual([0, 0, 0]);
  const command = await sandbox.commands.run("sleep 1000", { background: true });
  const other = await sandbox.commands.connect(command.pid);
  const terminal = await sandbox.pty.create({ cols: 80, rows: 24, onData: () => {} });
  await eventually(activity).toEqual([1, 1, 3]);
  await other.disconnect();
  await eventually(activity).toEqual([1, 1, 2]);
  await Promise.all([command.kill(), terminal.kill()]);
  await eventually(activity).toEqual([0, 0, 0]);
  await Promise.allSettled([command.wait(), other.wait(), terminal.wait()]);
});

test("closeStdin() ends the input", async () => {
  const { sandbox } = await startSandbox();
  const command = await sandbox.commands.run("cat; echo end", { background: true, stdin: true });
  await command.sendStdin("a");
  await command.closeStdin();
  await command.closeStdin().catch((error) => expect(error).toBeInstanceOf(NotFoundError));
  expect(await command.wait()).toMatchObject({ stdout: "aend\n" });
  const closed = await sandbox.commands.run("sleep 1000", { background: true });
  await expect(closed.sendStdin("x")).rejects.toThrow("is closed, or was not enabled");
  await closed.kill();
});

test("the time limit ends the command, and not only its stream", async () => {
  const { sandbox } = await startSandbox();
  const command = await sandbox.commands.run("sleep 1000", { background: true, timeoutMs: 1500 });
  await command.disconnect();
  await eventually(() => sandbox.commands.list()).toEqual([]);
  const other = await sandbox.commands.run("sleep 1000", { background: true, timeoutMs: 0 });
  // The time limit of connect() is that of its stream.
  await expect((await sandbox.commands.connect(other.pid, { timeoutMs: 1500 })).wait()).rejects.toThrow(TimeoutError);
  expect((await sandbox.commands.list()).map(({ pid }) => pid)).toEqual([other.pid]);
  await other.kill();
});

test("a terminal has a size, takes input and ends", async () => {
  const { sandbox } = await startSandbox();
  let text = "";
  const decoder = new TextDecoder();
  const onData = (data: Uint8Array) => void (text += decoder.decode(data, { stream: true }));
  const terminal = await sandbox.pty.create({ cols: 81, rows: 25, onData, envs: { C: "3" }, cwd: "/" });
  const type = (line: string) => sandbox.pty.sendInput(terminal.pid, new TextEncoder().encode(line));
  await type("stty size; echo $C$TERM; pwd\n");
  await eventually(() => text).toMatch(/25 81\r\n3xterm-256color\r\n\/\r\n/);
  await sandbox.pty.resize(terminal.pid, { cols: 100, rows: 30 });
  await type("stty size\n");
  await eventually(() => text).toContain("30 100");
  await terminal.disconnect();
  let later = "";
  const again = await sandbox.pty.connect(terminal.pid, {
    onData: (data) => void (later += new TextDecoder().decode(data)),
  });
  await type("echo $((40+2))\n");
  await eventually(() => later).toContain("42");
  await expect(sandbox.commands.sendStdin(terminal.pid, "x")).rejects.toThrow("its input is pty");
  await type("exit 7\n");
  await expect(again.wait()).rejects.toMatchObject({ exitCode: 7, error: "exit status 7" });
  const other = await sandbox.pty.create({ cols: 80, rows: 24, onData: () => {} });
  expect(await sandbox.pty.kill(other.pid)).toBe(true);
  await expect(other.wait()).rejects.toMatchObject({ exitCode: -1, error: "signal: killed" });
  await expect(sandbox.pty.sendInput(999_999, new Uint8Array())).rejects.toThrow(NotFoundError);
});
