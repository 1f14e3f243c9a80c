/** E2B's clients choose the user of a call, if the sandbox allows this user. @module */
import { Buffer } from "node:buffer";
import { statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { AuthenticationError, FileNotFoundError, NotFoundError, SandboxError } from "e2b";
import { expect, test } from "vitest";
import { EventType, Filesystem } from "../../../packages/runtime-api/gen/e2b/filesystem_pb.ts";
import { eventually } from "../../eventually.ts";
import { makeTempFolder } from "../../tempfolder.ts";
import { NOBODY, startWithUsers, TOKEN } from "../usersruntime.ts";
import { allOf, openStream } from "./frames.ts";
import { clientOf } from "./sandbox.ts";

const DAEMON = { user: "daemon" };
// Root's own start files run, too, and may take a minute, after which SDKs would give up.
const ROOT = { user: "root", timeoutMs: 0 };

test("commands run as the chosen user, and are found without naming it", async () => {
  const runtime = await startWithUsers(...NOBODY);
  if (!runtime) return;
  const { commands, pty } = clientOf(runtime.envdPort);
  const who = "id -un; echo $USER $LOGNAME; echo $HOME";
  expect((await commands.run(who)).stdout).toBe("nobody\nnobody nobody\n/nonexistent\n");
  expect((await commands.run("pwd")).stdout).toBe(`${runtime.workdir}\n`);
  expect((await commands.run(`${who}; pwd`, DAEMON)).stdout).toBe("daemon\ndaemon daemon\n/usr/sbin\n/usr/sbin\n");
  expect((await commands.run(`${who}; pwd`, ROOT)).stdout).toBe("root\nroot root\n/root\n/root\n");
  await expect(commands.run("true", { user: "no-such-user" })).rejects.toThrow(AuthenticationError);
  await expect(commands.run("true", { user: "bin" })).rejects.toThrow(SandboxError);
  await expect(commands.run("true", { user: "bin" })).rejects.toThrow("allows only");
  const running = [
    await commands.run("read x; echo $x; id -un", { background: true, stdin: true, ...DAEMON }),
    await commands.run("read x; echo $x; id -un", { background: true, stdin: true }),
    await commands.run("read x; echo $x; id -un", { background: true, stdin: true, ...ROOT }),
  ];
  expect((await commands.list()).map(({ pid }) => pid).sort()).toEqual(running.map(({ pid }) => pid).sort());
  const names = ["daemon", "nobody", "root"];
  for (const [index, { pid, disconnect }] of running.entries()) {
    await disconnect.call(running[index]);
    const again = await commands.connect(pid);
    const stdin = Buffer.from("in\n").toString("base64");
    const sent = await openStream(runtime.envdPort, "/process.Process/StreamInput", [
      { start: { process: { pid } } },
      { data: { input: { stdin } } },
    ]);
    expect(await allOf(sent)).toEqual([{ flag: 0, message: {} }, { flag: 2, message: {} }]);
    expect((await again.wait()).stdout).toBe(`in\n${names[index]}\n`);
  }
  const killed = await commands.run("sleep 1000", { background: true, timeoutMs: 0, ...DAEMON });
  expect([await killed.kill(), await killed.kill()]).toEqual([true, false]);
  await expect(killed.wait()).rejects.toMatchObject({ error: "signal: killed" });
  const limited = await commands.run("sleep 1000", { background: true, timeoutMs: 1500, ...DAEMON });
  await limited.disconnect();
  await eventually(() => commands.list()).toEqual([]);
  await expect(commands.connect(999_999)).rejects.toThrow(NotFoundError);
  let shown = "";
  const terminal = await pty.create({
    ...{ cols: 80, rows: 24, ...DAEMON },
    onData: (data) => void (shown += new TextDecoder().decode(data)),
  });
  await pty.resize(terminal.pid, { cols: 90, rows: 30 });
  await pty.sendInput(terminal.pid, new TextEncoder().encode("stty size; id -un; exit\n"));
  await terminal.wait();
  expect(shown).toMatch(/30 90\r\ndaemon\r\n/);
});

test("files have the rights of the chosen user, and belong to it", async () => {
  const runtime = await startWithUsers(...NOBODY);
  if (!runtime) return;
  const { files } = clientOf(runtime.envdPort);
  const at = (name: string) => join(runtime.workdir, name);
  await files.write(at("a/nobody"), "1", { metadata: { by: "me" } });
  await files.write([{ path: at("daemon"), data: "2" }], DAEMON);
  await files.write(at("root"), "3", ROOT);
  expect([statSync(at("a/nobody")).uid, statSync(at("a")).uid, statSync(at("daemon")).uid, statSync(at("root")).uid])
    .toEqual([65534, 65534, 1, 0]);
  expect(await files.getInfo(at("a/nobody"))).toMatchObject({ owner: "nobody", metadata: { by: "me" } });
  expect(await files.getInfo(at("daemon"), ROOT)).toMatchObject({ owner: "daemon", group: "daemon" });
  // Relative names are in the home directory of the user; nobody has none.
  expect(await files.write("relative", "4")).toMatchObject({ path: at("relative") });
  const secret = makeTempFolder();
  writeFileSync(join(secret, "secret"), "5", { mode: 0o600 });
  expect(await files.read(join(secret, "secret"), ROOT)).toBe("5");
  await expect(files.read(join(secret, "secret"), DAEMON)).rejects.toThrow("403");
  await expect(files.read(at("none"), DAEMON)).rejects.toThrow(FileNotFoundError);
  await expect(files.read(at("root"), { user: "no-such-user" })).rejects.toThrow(AuthenticationError);
  await expect(files.read(at("root"), { user: "bin" })).rejects.toThrow("allows only");
  await files.makeDir(at("of-daemon"), DAEMON);
  const seen: string[] = [];
  const watch = await files.watchDir(at("of-daemon"), ({ name, type }) => void seen.push(`${type} ${name}`), DAEMON);
  await files.write(at("of-daemon/x"), "1", DAEMON);
  await eventually(() => seen).toEqual(["create x", "write x"]);
  await watch.stop();
});

test("a watcher of another user is found without naming the user", async () => {
  const runtime = await startWithUsers(...NOBODY);
  if (!runtime) return;
  const baseUrl = `http://127.0.0.1:${runtime.envdPort}`;
  const client = createClient(Filesystem, createConnectTransport({ baseUrl, httpVersion: "1.1" }));
  const headers = { Authorization: `Basic ${Buffer.from("daemon:").toString("base64")}` };
  const { watcherId } = await client.createWatcher({ path: runtime.workdir }, { headers });
  writeFileSync(join(runtime.workdir, "a"), "");
  const seen: EventType[] = [];
  await eventually(async () => {
    seen.push(...(await client.getWatcherEvents({ watcherId })).events.map(({ type }) => type));
    return seen;
  }).toEqual([EventType.CREATE]);
  await client.removeWatcher({ watcherId });
  await expect(client.removeWatcher({ watcherId })).rejects.toThrow("[not_found]");
});

test("the token of the runtime is needed for all users", async () => {
  const file = join(makeTempFolder(), "token");
  writeFileSync(file, TOKEN);
  const runtime = await startWithUsers(...NOBODY, "--token-file", file);
  if (!runtime) return;
  await expect(clientOf(runtime.envdPort).commands.run("true", DAEMON)).rejects.toThrow(AuthenticationError);
  expect((await clientOf(runtime.envdPort, TOKEN).commands.run("id -un", DAEMON)).stdout).toBe("daemon\n");
});
