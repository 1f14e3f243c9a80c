/** One file system: a path means in every interface what it means to `cat` in a command. @module */
import { execFileSync } from "node:child_process";
import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import { encodeName } from "../../packages/process/filenames.ts";
import { ProcessService } from "../../packages/runtime-api/gen/process/v1/process_pb.ts";
import { FileNotFoundError, NotFoundError, SandboxError } from "../../packages/sdk/errors.ts";
import { run } from "../cli/fakecontext.ts";
import { textOf } from "../cli/mcp/stage.ts";
import { formOf, send } from "../runtime/servers.ts";
import { aWorld, catOf, type Found, pathOf, PATHS, quoted, TOKEN, type World } from "./pathsworld.ts";

/** Calls `read`, and tells from its error what is there. */
async function found(read: () => Promise<string | undefined>): Promise<Found> {
  try {
    const text = await read();
    return text === undefined ? "folder" : `text ${text}`;
  } catch (error) {
    if (error instanceof FileNotFoundError || error instanceof NotFoundError) return "missing";
    if (error instanceof SandboxError && /it is a folder/.test(error.message)) return "folder";
    if (error instanceof SandboxError) return "refused";
    throw error;
  }
}

function ofWords(words: string): Found {
  if (/folder/.test(words) && !/there is not a folder/.test(words)) return "folder";
  return /nothing is there|not a folder/.test(words) ? "missing" : "refused";
}

const READERS: Record<string, (path: string, world: World) => Promise<Found>> = {
  "GET /v1/files": async (path, { runtime }) => {
    const answer = await send(runtime.restPort, "GET", `/v1/files/${encodeName(path)}`);
    if (answer.status === 404) return "missing";
    if (answer.status !== 200) return "refused";
    return answer.headers["content-type"] === "application/json" ? "folder" : `text ${answer.text}`;
  },
  "GET /v1/archive": async (path, { runtime }) => {
    // An archive of / or /proc is another test's.
    if (path === "/" || path === "/proc") return "folder";
    const answer = await send(runtime.restPort, "GET", `/v1/archive/${encodeName(path)}`);
    if (answer.status === 404) return "missing";
    if (answer.status !== 200) return "refused";
    const { type } = JSON.parse((await send(runtime.restPort, "GET", `/v1/stat/${encodeName(`${path}/`)}`)).text);
    return type === "directory" ? "folder" : `text ${execFileSync("tar", ["-xOf", "-"], { input: answer.body })}`;
  },
  "GET /download and /list": async (path, { runtime }) => {
    const answer = await send(runtime.port, "GET", `/download/${encodeName(path)}`);
    if (answer.status === 200) return `text ${answer.text}`;
    if (answer.status !== 404) return "refused";
    return (await send(runtime.port, "GET", `/list/${encodeName(path)}`)).status === 200 ? "folder" : "missing";
  },
  "files.read": (path, { sandbox }) => found(() => sandbox.files.read(path)),
  "files.download": async (path, { sandbox }) => {
    if (path === "/" || path === "/proc" || path === "..") return "folder";
    const to = join(makeFolder(), "to");
    return await found(async () => {
      await sandbox.files.download(path, to);
      return statSync(to).isDirectory() ? undefined : readFileSync(to, "utf8");
    });
  },
  "fs.stat and files.list": (path, { sandbox }) =>
    found(async () => {
      const stats = await sandbox.fs.stat(path);
      if (!stats.isDirectory()) return await sandbox.files.read(path);
      await sandbox.files.list(path);
      return undefined;
    }),
  "read_file": async (path, { agent }) => {
    const answer = await agent.call("read_file", { sandbox: "mine", path });
    return answer.isError ? ofWords(textOf(answer)) : `text ${textOf(answer)}`;
  },
  "hookbox cp": async (path, { setting }) => {
    const { code, stdout, stderr } = await run(["cp", `mine:${path}`, "-"], setting);
    return code === 0 ? `text ${stdout}` : ofWords(stderr);
  },
};

function makeFolder(): string {
  const folder = execFileSync("mktemp", ["-d"], { encoding: "utf8" }).trim();
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

test.for(Object.entries(READERS))("%s finds at each path what cat finds", async ([, read]) => {
  const world = await aWorld();
  const [wanted, got]: Record<string, Found>[] = [{}, {}];
  for (const template of PATHS) {
    const path = pathOf(template, world);
    wanted![template] = await catOf(path, world);
    got![template] = await read(path, world);
  }
  expect(got).toEqual(wanted);
});

/** Runs `pwd -P` in a folder. Undefined: not in this folder. */
const RUNNERS: Record<string, (cwd: string, world: World) => Promise<string | undefined>> = {
  "commands.run": async (cwd, { sandbox }) => await textUnless(sandbox.commands.run("pwd -P", { cwd })),
  "commands.run in a terminal": async (cwd, { sandbox }) => {
    let text = "";
    const onData = (bytes: Uint8Array) => void (text += new TextDecoder().decode(bytes));
    const terminal = await sandbox.pty.create({ cwd, command: "pwd -P", cols: 500, rows: 9, onData }).catch(refused);
    await terminal?.wait();
    return terminal && text.replace("\r\n", "");
  },
  "runCode": async (cwd, { sandbox }) => {
    const context = await sandbox.createCodeContext({ cwd }).catch(refused);
    if (!context) return undefined;
    const { logs } = await sandbox.runCode("import os; print(os.getcwd())", { context });
    await sandbox.code.removeCodeContext(context);
    return logs.stdout.join("").trimEnd();
  },
  "process.v1 Execute": async (cwd, { runtime }) => {
    const transport = createGrpcTransport({ baseUrl: `http://127.0.0.1:${runtime.grpcPort}` });
    const config = { command: ["/bin/pwd", "-P"], cwd };
    const answer = await createClient(ProcessService, transport).execute({ config }).catch(refused);
    return answer && new TextDecoder().decode(answer.stdout).trimEnd();
  },
  "GET /v1/terminal": async (cwd, { runtime }) => {
    const query = new URLSearchParams({ cwd, command: "pwd -P" });
    const socket = new WebSocket(`ws://127.0.0.1:${runtime.restPort}/v1/terminal?${query}`);
    let text = "";
    socket.on("message", (data, isBinary) => text += isBinary ? data.toString() : "");
    const isOpen = await new Promise((resolve) => {
      socket.on("close", () => resolve(true));
      socket.on("unexpected-response", () => resolve(false)).on("error", () => {});
    });
    socket.terminate();
    return isOpen ? text.replace("\r\n", "") : undefined;
  },
  "execute_command": async (cwd, { agent }) => {
    const ran = await agent.call("execute_command", {
      sandbox: "mine",
      command: "pwd -P",
      cwd,
    });
    return ran.isError ? undefined : textOf(ran).replace("exit code 0\n--- stdout\n", "");
  },
};

async function textUnless(running: Promise<{ stdout: string }>): Promise<string | undefined> {
  return (await running.catch(refused))?.stdout.trimEnd();
}

function refused(error: unknown): undefined {
  if (!(error instanceof SandboxError || error instanceof ConnectError)) throw error;
  if (error instanceof ConnectError && error.code === Code.Internal) throw error;
}

test.for(Object.entries(RUNNERS))("%s runs in the folder that cd enters", async ([, pwdIn]) => {
  const world = await aWorld();
  const [wanted, got]: Record<string, string>[] = [{}, {}];
  for (const template of PATHS) {
    const path = pathOf(template, world);
    const { stdout } = await world.sandbox.commands.run(`cd -P -- ${quoted(path)} && pwd -P`);
    wanted![template] = stdout.trimEnd() || "none";
    got![template] = await pwdIn(path, world) ?? "none";
  }
  expect(got).toEqual(wanted);
});

/** Writes a file. False: nothing can be written there. */
const WRITERS: Record<string, (path: string, text: string, world: World) => Promise<boolean>> = {
  "PUT /v1/files": async (path, text, { runtime }) =>
    (await send(runtime.restPort, "PUT", `/v1/files/${encodeName(path)}`, { body: text })).status === 204,
  "POST /upload": async (path, text, { runtime }) =>
    (await send(runtime.port, "POST", "/upload", formOf(path.replaceAll('"', "%22"), text))).status === 200,
  "POST /v1/bind": async (path, content, { runtime }) => {
    const headers = { Authorization: `Bearer ${TOKEN}` };
    const body = JSON.stringify({ files: [{ path, content }] });
    return (await send(runtime.restPort, "POST", "/v1/bind", { headers, body })).status === 200;
  },
  "files.write": async (path, text, { sandbox }) => await isDone(sandbox.files.write(path, text)),
  "files.upload": async (path, text, { sandbox }) => {
    const from = join(makeFolder(), "from");
    writeFileSync(from, text);
    return await isDone(sandbox.files.upload(from, path));
  },
  "rename": async (path, text, { sandbox, outside }) => {
    await sandbox.files.write(join(outside, "from"), text);
    return await isDone(sandbox.files.rename(join(outside, "from"), path, { replace: true }));
  },
  "write_file": async (path, content, { agent }) =>
    !(await agent.call("write_file", { sandbox: "mine", path, content })).isError,
  "hookbox cp": async (path, input, { setting }) =>
    (await run(["cp", "-", `mine:${path}`], { ...setting, input })).code === 0,
};

async function isDone(work: Promise<unknown>): Promise<boolean> {
  return await work.then(() => true, (error) => {
    if (error instanceof SandboxError) return false;
    throw error;
  });
}

/** The files of this machine are not written, and links are replaced by some. */
const WRITABLE = PATHS.filter((path) => !/^\/(etc|proc|$)|^(link|broken|loop)/.test(path));

test.for(Object.entries(WRITERS))("what %s writes at a path, cat reads there", async ([, write]) => {
  const world = await aWorld();
  for (const template of WRITABLE) {
    const path = pathOf(template, world);
    const before = await catOf(path, world);
    const isWritten = await write(path, `new ${template}`, world);
    const after = await catOf(path, world);
    // An upload puts the file into the folder.
    expect(after, template).toBe(isWritten && before !== "folder" ? `text new ${template}` : before);
    if (before.startsWith("text ")) expect(isWritten, template).toBe(true);
  }
});
