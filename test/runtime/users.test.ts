/** --allow-users: a call runs as the user that its caller chooses, if the template allows this user. @module */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { randomBytes } from "node:crypto";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { expect, test } from "vitest";
import { WebSocket } from "ws";
import { ProcessService } from "../../packages/runtime-api/gen/process/v1/process_pb.ts";
import { createCode } from "../../packages/sdk/code/code.ts";
import { createCommands } from "../../packages/sdk/commands/commands.ts";
import { AuthorizationError, InvalidArgumentError, UnsupportedError } from "../../packages/sdk/errors.ts";
import { createFiles } from "../../packages/sdk/files/files.ts";
import { createFS } from "../../packages/sdk/files/fs.ts";
import { createPTY } from "../../packages/sdk/pty.ts";
import { createRuntimeClient } from "../../packages/sdk/runtime/runtimeclient.ts";
import { until, untilThere } from "../eventually.ts";
import { startMain } from "../mainprocess.ts";
import { aSandbox, localTransport } from "../sdk/localtransport.ts";
import { makeTempFolder } from "../tempfolder.ts";
import { send } from "./servers.ts";
import { NOBODY, PORTS, startWithUsers, TOKEN } from "./usersruntime.ts";

const AS = (user: string) => ({ headers: { "X-Sandbox-User": user } });

test("commands, terminals and code run as the chosen user, with home and groups", async () => {
  const sandbox = await startWithUsers(...NOBODY);
  if (!sandbox) return;
  const { commands, code, client, port, interpreterPort } = sandbox;
  const who = "id -un; id -G; echo $HOME $USER $LOGNAME; pwd";
  const home = (user: string) =>
    readFileSync("/etc/passwd", "utf8").match(new RegExp(`^${user}:.*:(.*):.*$`, "m"))?.[1];
  const groups = { nobody: "65534", daemon: "1", root: "0" };
  for (const user of [undefined, "nobody", "daemon", "root"] as const) {
    const name = user ?? "nobody";
    const said = `${name}\n${groups[name]}\n${home(name)} ${name} ${name}\n${sandbox.workdir}\n`;
    expect((await commands.run(who, { user })).stdout, user).toBe(said);
    const background = await commands.run(who, { user, background: true });
    expect((await background.wait()).stdout, user).toBe(said);
    let shown = "";
    const terminal = await createPTY(client).create({
      ...{ cols: 80, rows: 24, command: who, user },
      onData: (bytes) => shown += new TextDecoder().decode(bytes),
    });
    expect(await terminal.wait()).toEqual({ exitCode: 0 });
    expect(shown.replaceAll("\r", ""), user).toBe(said);
    const ran = await code.runCode("import os, pwd; pwd.getpwuid(os.getuid()).pw_name", { user });
    expect(ran.text, user).toBe(`'${name}'`);
    const headers = { "Content-Type": "application/json", ...user === undefined ? {} : AS(user).headers };
    const legacy = await send(port, "POST", "/execute", { headers, body: JSON.stringify({ command: "id -un" }) });
    expect(JSON.parse(legacy.text)).toMatchObject({ stdout: `${name}\n` });
    const body = JSON.stringify({ code: "id -un; cd /usr", language: "bash" });
    const interpreted = await send(interpreterPort, "POST", "/execute", { headers, body });
    expect(interpreted.text).toContain(`{"type":"stdout","text":"${name}\\n"`);
  }
});

test("requests for files have the rights of the user, and what they write belongs to the user", async () => {
  const sandbox = await startWithUsers(...NOBODY);
  if (!sandbox) return;
  const { files, commands, workdir, client } = sandbox;
  for (const [user, uid] of [[undefined, 65534], ["daemon", 1], ["root", 0]] as const) {
    const folder = `of-${user}`;
    await files.makeDir(folder, { user });
    await files.write(`${folder}/a.txt`, "a", { user });
    await files.write([{ path: `${folder}/deep/b.txt`, data: "b" }], { user });
    await commands.run(`echo c > ${folder}/c.txt`, { user });
    await files.upload(join(workdir, folder, "a.txt"), `${folder}/d.txt`, { user });
    for (const path of ["", "a.txt", "deep", "deep/b.txt", "c.txt", "d.txt"]) {
      const { uid: owner, gid } = statSync(join(workdir, folder, path));
      expect([folder, path, owner, gid]).toEqual([folder, path, uid, uid]);
    }
  }
  writeFileSync(join(workdir, "secret"), "x", { mode: 0o600 });
  mkdirSync(join(workdir, "closed"), { mode: 0o700 });
  symlinkSync(join(workdir, "secret"), join(workdir, "of-daemon", "link"));
  symlinkSync(join(workdir, "closed"), join(workdir, "of-daemon", "folder"));
  const fs = createFS(files, client.object);
  await fs.writeFile("of-daemon/fs", "x", { user: "daemon" });
  expect(statSync(join(workdir, "of-daemon", "fs")).uid).toBe(1);
  await expect(fs.readFile("secret", { user: "daemon" })).rejects.toMatchObject({ code: "EACCES" });
  expect(await fs.readFile("secret", { encoding: "utf8", user: "root" })).toBe("x");
  const refused = [
    () => files.read("secret", { user: "daemon" }),
    () => files.read("of-daemon/link", { user: "daemon" }),
    () => files.list("closed", { user: "daemon" }),
    () => files.write("of-daemon/folder/a", "x", { user: "daemon" }),
    () => files.makeDir("closed/a", { user: "daemon" }),
    () => files.rename("of-root/a.txt", "of-daemon/a2", { user: "daemon" }),
    () => files.remove("of-undefined/a.txt", { user: "daemon" }),
    () => files.download("closed", makeTempFolder(), { user: "daemon" }),
  ];
  for (const act of refused) await expect(act(), String(act)).rejects.toThrow(AuthorizationError);
  expect(await files.read("secret", { user: "root" })).toBe("x");
  const watch = files.watch("of-root", { user: "root" });
  expect((await watch.next()).value).toEqual({ type: "ready" });
  await files.write("of-root/new", "x", { user: "root" });
  expect((await watch.next()).value).toMatchObject({ type: "created", path: "of-root/new" });
  await watch.return(undefined);
});

test("a user whom the template does not allow is refused, on every port and before anything starts", async () => {
  const sandbox = await startWithUsers(...NOBODY);
  if (!sandbox) return;
  const { commands, port, restPort, grpcPort, interpreterPort, said } = sandbox;
  await expect(commands.run("id", { user: "bin" })).rejects.toThrow(
    'Cannot act as user "bin": this sandbox allows only root, daemon, nobody',
  );
  for (const user of ["bin", "65534", "nobody-there", "../root"]) {
    expect((await send(restPort, "GET", "/v1/files/a", AS(user))).status).toBe(403);
    expect((await send(port, "GET", "/list/.", AS(user))).status).toBe(403);
    expect((await send(interpreterPort, "GET", "/contexts", AS(user))).status).toBe(403);
    const client = createClient(ProcessService, createGrpcTransport({ baseUrl: `http://127.0.0.1:${grpcPort}` }));
    const refusal = await client.execute({ config: { command: ["id"] } }, AS(user)).catch(ConnectError.from);
    expect(refusal).toMatchObject({ code: Code.PermissionDenied });
    const socket = new WebSocket(`ws://127.0.0.1:${restPort}/v1/terminal?user=${encodeURIComponent(user)}`);
    expect(
      await new Promise((resolve) => {
        socket.on("unexpected-response", (_, { statusCode }) => resolve(statusCode)).on("error", () => {});
      }),
    ).toBe(403);
  }
  expect(said("The runtime of a user ended")).toEqual([]);
});

test("terminals for browsers and gRPC choose a user, too", async () => {
  const sandbox = await startWithUsers();
  if (!sandbox) return;
  const { restPort, grpcPort, commands } = sandbox;
  const client = createClient(ProcessService, createGrpcTransport({ baseUrl: `http://127.0.0.1:${grpcPort}` }));
  for (const [user, name] of [["daemon", "daemon"], ["root", "root"], ["", "root"]] as const) {
    const { stdout } = await client.execute({ config: { command: ["id", "-un"] } }, AS(user));
    expect(new TextDecoder().decode(stdout)).toBe(`${name}\n`);
    const socket = new WebSocket(`ws://127.0.0.1:${restPort}/v1/terminal?command=id+-un&user=${user}`);
    let text = "";
    socket.on("message", (data, isBinary) => isBinary && (text += data.toString()));
    await new Promise((resolve) => socket.on("close", resolve));
    expect(text).toBe(`${name}\r\n`);
  }
  const late = client.execute({ config: { command: ["sleep", "1000"] } }, { ...AS("daemon"), timeoutMs: 300 });
  expect(await late.catch(ConnectError.from)).toMatchObject({ code: Code.DeadlineExceeded });
  await until(async () => (await commands.list()).length === 0);
});

test("without a user, an id finds the process or context of any user; lists and activity count all", async () => {
  const sandbox = await startWithUsers(...NOBODY);
  if (!sandbox) return;
  const { commands, code, restPort } = sandbox;
  const started = [];
  for (const user of ["root", "daemon", undefined]) {
    started.push(await commands.run("read line; echo $line; exec sleep 1000", { user, background: true, stdin: true }));
  }
  const ids = started.map(({ processId }) => processId);
  expect(new Set((await commands.list()).map(({ processId }) => processId))).toEqual(new Set(ids));
  const activity = async () => JSON.parse((await send(restPort, "GET", "/v1/activity")).text);
  expect(await activity()).toMatchObject({ running: 3, idleSeconds: 0 });
  for (const id of ids) {
    const same = await commands.connect(id);
    await same.write(`to ${id}\n`);
    for await (const { text } of same) {
      expect(text).toBe(`to ${id}\n`);
      break;
    }
    const others = ["root", "daemon", "nobody"][(ids.indexOf(id) + 1) % 3];
    expect(await commands.kill(id, { user: others }), "a command of another user").toBe(false);
    expect(await same.kill()).toBe(true);
    expect((await same.wait()).signal).toBe("SIGKILL");
  }
  await until(async () => (await activity()).running === 0);
  expect(await commands.kill(1)).toBe(false);

  const context = await code.createCodeContext({ language: "bash", user: "daemon" });
  expect((await code.runCode("id -un", { context })).logs.stdout.join("")).toBe("daemon\n");
  expect((await code.listCodeContexts()).map(({ id }) => id)).toContain(context.id);
  await expect(code.runCode("id", { context, user: "root" })).rejects.toThrow(InvalidArgumentError);
  await code.runCode("x=1", { language: "bash", user: "daemon" });
  await code.restartCodeContext({ language: "bash", user: "daemon" });
  expect((await code.runCode("echo x$x", { language: "bash", user: "daemon" })).logs.stdout.join("")).toBe("x\n");
  await code.removeCodeContext(context);
  expect((await code.listCodeContexts()).map(({ id }) => id)).not.toContain(context.id);
});

test("what is bound belongs to the default user, and all users have the variables", async () => {
  const file = join(makeTempFolder(), "token");
  writeFileSync(file, TOKEN, { mode: 0o600 });
  const sandbox = await startWithUsers(...NOBODY, "--token-file", file);
  if (!sandbox) return;
  const { restPort, commands, workdir, files } = sandbox;
  const body = JSON.stringify({ env: { KEY: "bound" }, files: [{ path: "key", content: "k" }] });
  expect((await send(restPort, "POST", "/v1/bind", { body })).status).toBe(401);
  const headers = { Authorization: `Bearer ${TOKEN}` };
  expect((await send(restPort, "POST", "/v1/bind", { body, headers })).status).toBe(200);
  expect(statSync(join(workdir, "key"))).toMatchObject({ uid: 65534, mode: 0o100600 });
  for (const user of [undefined, "daemon", "root"]) {
    expect((await commands.run("echo $KEY", { user })).stdout, user).toBe("bound\n");
    expect((await send(restPort, "GET", "/v1/stat/key", user ? AS(user) : {})).status, "without the token").toBe(401);
  }
  await expect(files.read("key", { user: "daemon" })).rejects.toThrow(AuthorizationError);
  const own = (await commands.run(`cat ${file}`)).exitCode;
  expect(own, "the default user cannot read the token, and so cannot choose root").not.toBe(0);
});

test("a user reaches neither the runtimes of others, nor a terminal of root", async () => {
  const sandbox = await startWithUsers(...NOBODY);
  if (!sandbox) return;
  const { commands, client } = sandbox;
  const terminal = await createPTY(client).create({ cols: 80, rows: 24, command: ["sleep", "1000"], user: "root" });
  await commands.run("true", { user: "daemon" });
  const sockets = await commands.run("ls -d /run/hookbox-user-*/ | head -1; ls /run/hookbox-user-*", {
    user: "daemon",
  });
  expect(sockets.stderr).toContain("Permission denied");
  const pid = (await commands.run("echo $PPID", { user: "daemon" })).stdout.trim();
  const open = readdirSync(`/proc/${pid}/fd`).map((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`));
  expect(open.filter((target) => /ptmx|pts/.test(target))).toEqual([]);
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  expect(status).toMatch(/^Uid:\s+1\s+1\s+1\s+1$/m);
  expect(status).toMatch(/^Cap(Prm|Eff):\s+0+\nCapEff:\s+0+$/m);
  const debug = await commands.run(`cat /proc/${pid}/environ; ls /proc/${pid}/fd`, { user: "daemon" });
  expect(debug.stderr.match(/Permission denied/g), "not even of its own user").toHaveLength(2);
  await terminal.kill();
});

test("without --allow-users, only the runtime's own user can be chosen", async () => {
  const { runtimeClient, port } = await aSandbox();
  const own = (await createCommands(runtimeClient).run("id -un")).stdout.trim();
  expect((await createCommands(runtimeClient).run("id -un", { user: own })).stdout).toBe(`${own}\n`);
  const other = own === "daemon" ? "bin" : "daemon";
  const refusal = `Cannot act as user "${other}": callers may not choose a user here.`;
  await expect(createCommands(runtimeClient).run("id", { user: other })).rejects.toThrow(refusal);
  await expect(createPTY(runtimeClient).create({ cols: 1, rows: 1, user: other })).rejects.toThrow(refusal);
  await expect(createCode(runtimeClient).runCode("1", { user: other })).rejects.toThrow(refusal);
  await expect(createFiles(runtimeClient).write("a", "a", { user: other })).rejects.toThrow(refusal);
  expect((await send(port, "GET", "/v1/files/.", AS(other))).text).toContain(`--allow-users ${other}`);
  const body = JSON.stringify({ config: { command: ["id"] } });
  const headers = { ...AS(other).headers, "Content-Type": "application/json" };
  expect((await send(port, "POST", "/process.v1.ProcessService/Execute", { body, headers })).status).toBe(403);
});

test("the SDK does not use a runtime that would ignore the user", async () => {
  const { runtimeClient, port } = await aSandbox();
  const { fetch, ...transport } = localTransport(port);
  const old = createRuntimeClient(
    {
      ...transport,
      fetch: (number, path, request = {}) => {
        const { "X-Sandbox-User": _, ...headers } = request.headers ?? {};
        return fetch(number, path, { ...request, headers });
      },
    },
    runtimeClient.object,
    undefined,
  );
  await expect(createCommands(old).run("echo > ran", { user: "root" })).rejects.toThrow(UnsupportedError);
  expect(await createFiles(old).exists("ran")).toBe(false);
});

test("a user who may not enter the working directory starts at home", async () => {
  const sandbox = await startWithUsers();
  if (!sandbox) return;
  chmodSync(sandbox.workdir, 0o700);
  const home = (await sandbox.commands.run("echo ~daemon")).stdout;
  expect((await sandbox.commands.run("pwd", { user: "daemon" })).stdout).toBe(home);
  expect((await sandbox.files.stat(".", { user: "daemon" })).path).toBe(home.trim());
});

test("large files pass through, in both directions and in parts", async () => {
  const sandbox = await startWithUsers(...NOBODY);
  if (!sandbox) return;
  const { files, restPort, workdir } = sandbox;
  const bytes = randomBytes(20 << 20);
  await files.write("large", new Blob([bytes]).stream(), { user: "daemon" });
  expect(readFileSync(join(workdir, "large")).equals(bytes)).toBe(true);
  expect(bytes.equals(await files.read("large", { format: "bytes", user: "daemon" }))).toBe(true);
  const range = { headers: { ...AS("daemon").headers, Range: "bytes=5-8" } };
  const part = await send(restPort, "GET", "/v1/files/large", range);
  expect([part.status, part.headers["content-range"], part.body]).toEqual([
    206,
    `bytes 5-8/${bytes.length}`,
    bytes.subarray(5, 9),
  ]);
  const head = await send(restPort, "HEAD", "/v1/files/large", AS("daemon"));
  expect([head.status, head.headers["content-length"], head.text]).toEqual([200, String(bytes.length), ""]);
  const whole = await files.read("large", { format: "stream", user: "daemon" });
  await whole.cancel();
  expect(await files.list("missing", { user: "daemon" }).catch(({ code }) => code)).toBe("NOT_FOUND");
});

test("with --root, the files of all users are confined", async () => {
  const root = makeTempFolder();
  chmodSync(root, 0o777);
  const sandbox = await startWithUsers("--root", root);
  if (!sandbox) return;
  await sandbox.files.write("/etc/a", "x", { user: "daemon" });
  expect(statSync(join(root, "etc/a")).uid).toBe(1);
  symlinkSync("/etc", join(root, "out"));
  await expect(sandbox.files.read("out/passwd", { user: "daemon" })).rejects.toThrow("leads out of the root");
});

test("the runtime does not start with a user that the image lacks", async () => {
  const args = ["packages/runtime/main.ts", "--allow-users", "nobody-there", ...PORTS];
  await expect(startMain("node", args, "Listening")).rejects.toThrow("has no such user");
});

test("when it stops, the runtimes of all users end; a new one starts for a user whose runtime was killed", async () => {
  const sandbox = await startWithUsers();
  if (!sandbox) return;
  const { commands, said, stop, client } = sandbox;
  const pidOf = async () => Number((await commands.run("echo $PPID", { user: "daemon" })).stdout);
  const first = await pidOf();
  process.kill(first, "SIGKILL");
  await untilThere(1, () => said("The runtime of a user ended"));
  expect(said("The runtime of a user ended")).toMatchObject([{ user: "daemon", how: "signal SIGKILL" }]);
  const second = await pidOf();
  expect(second).not.toBe(first);
  const long = await commands.run("exec sleep 1000", { user: "daemon", background: true });
  expect(client.known.runtime).toBe(true);
  await stop();
  await until(() => ![second, long.processId].some((pid) => existsSync(`/proc/${pid}`)));
});

test("if the runtime of the default user is killed, the whole runtime ends, and with it the container", async () => {
  const sandbox = await startWithUsers(...NOBODY);
  if (!sandbox) return;
  const pid = Number((await sandbox.commands.run("echo $PPID")).stdout);
  process.kill(pid, "SIGKILL");
  expect(await sandbox.ended).toBe(1);
});
