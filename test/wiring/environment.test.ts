/** One environment: every interface starts processes with the same variables, folder, user, umask and locale. @module */
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import { composeEnvironment } from "../../packages/runtime/processes/command.ts";
import type { Runtime } from "../../packages/runtime/start.ts";
import { ProcessService } from "../../packages/runtime-api/gen/process/v1/process_pb.ts";
import { createCode } from "../../packages/sdk/code/code.ts";
import { createCommands } from "../../packages/sdk/commands/commands.ts";
import { createPTY } from "../../packages/sdk/pty.ts";
import { createRuntimeClient, type RuntimeClient } from "../../packages/sdk/runtime/runtimeclient.ts";
import { send, startOpenRuntime } from "../runtime/servers.ts";
import { localTransport, OBJECT } from "../sdk/localtransport.ts";
import { makeTempFolder } from "../tempfolder.ts";

const TOKEN = "token";

interface World {
  workdir: string;
  runtime: Runtime;
  runtimeClient: RuntimeClient;
  /** Prints everything; in a file, so that no interface has to quote it. */
  script: string;
}

/** Leaves out what a process has of its own: the mark of its command, and what its shell sets. */
const SCRIPT = `#!/bin/sh
env | grep -v -e ^HOOKBOX_COMMANDS= -e ^_= -e ^SHLVL= | sort
pwd
umask
id
ulimit -n
locale 2>/dev/null
`;

/** Starts a runtime that has inherited these variables, and no others; they go when the test ends. */
async function aWorld(variables: Record<string, string>): Promise<World> {
  const around = makeTempFolder();
  const workdir = join(around, "work");
  mkdirSync(workdir);
  writeFileSync(join(around, "token"), TOKEN);
  const script = join(around, "script");
  writeFileSync(script, SCRIPT, { mode: 0o755 });
  const former = process.env;
  process.env = { ...variables };
  onTestFinished(() => void (process.env = former));
  const runtime = await startOpenRuntime(workdir, "--token-file", join(around, "token"), "--token-scope", "bind");
  onTestFinished(() => runtime.stop());
  const headers = { Authorization: `Bearer ${TOKEN}` };
  const body = JSON.stringify({ env: { BOUND: "by bind", OVER: "by bind" } });
  expect((await send(runtime.restPort, "POST", "/v1/bind", { headers, body })).status).toBe(200);
  const runtimeClient = createRuntimeClient(localTransport(runtime.restPort), OBJECT, undefined);
  return { workdir, runtime, runtimeClient, script };
}

const INTERFACES: Record<string, (world: World) => Promise<string>> = {
  "commands.run": async ({ runtimeClient, script }) => (await createCommands(runtimeClient).run(script)).stdout,
  "commands.run in the background": async ({ runtimeClient, script }) => {
    const handle = await createCommands(runtimeClient).run(script, { background: true });
    return (await handle.wait()).stdout;
  },
  "pty.create": async ({ runtimeClient, script }) => {
    let text = "";
    const onData = (bytes: Uint8Array) => void (text += new TextDecoder().decode(bytes));
    const terminal = await createPTY(runtimeClient).create({ command: [script], cols: 500, rows: 9, onData });
    await terminal.wait();
    return text.replaceAll("\r", "");
  },
  "GET /v1/terminal": async ({ runtime, script }) => {
    const query = new URLSearchParams({ command: script });
    const socket = new WebSocket(`ws://127.0.0.1:${runtime.restPort}/v1/terminal?${query}`);
    let text = "";
    socket.on("message", (data, isBinary) => text += isBinary ? data.toString() : "");
    await new Promise((resolve) => socket.on("close", resolve));
    return text.replaceAll("\r", "");
  },
  "runCode in Python": async ({ runtimeClient, script }) => {
    const code = `import subprocess; print(subprocess.run([${
      JSON.stringify(script)
    }], capture_output=True, text=True).stdout)`;
    return (await createCode(runtimeClient).runCode(code)).logs.stdout.join("");
  },
  "runCode in JavaScript": async ({ runtimeClient, script }) => {
    const code = `console.log((await import("node:child_process")).execFileSync(${
      JSON.stringify(script)
    }, { encoding: "utf8" }))`;
    return (await createCode(runtimeClient).runCode(code, { language: "javascript" })).logs.stdout.join("");
  },
  "process.v1 Execute": async ({ runtime, script }) => {
    const transport = createGrpcTransport({ baseUrl: `http://127.0.0.1:${runtime.grpcPort}` });
    const { stdout } = await createClient(ProcessService, transport).execute({ config: { command: [script] } });
    return new TextDecoder().decode(stdout);
  },
  "POST /execute": async ({ runtime, script }) => {
    const answer = await send(runtime.port, "POST", "/execute", { body: JSON.stringify({ command: script }) });
    return JSON.parse(answer.text).stdout;
  },
};

/** The folder of Python itself: the shims of a version manager add variables of their own. */
const PYTHON = dirname(execFileSync("python3", ["-c", "import sys; print(sys.executable)"], { encoding: "utf8" }));
const PATH = `/image/bin:${PYTHON}:/usr/bin:/bin`;
const IMAGE = { PATH, HOME: "/tmp", FROM_IMAGE: "a b", OVER: "by the image", PWD: "/elsewhere", OLDPWD: "/elsewhere" };

test("every interface starts processes in the same environment", async () => {
  const world = await aWorld(IMAGE);
  const seen: Record<string, string[]> = {};
  for (const [name, run] of Object.entries(INTERFACES)) seen[name] = (await run(world)).trimEnd().split("\n");
  const [first = []] = Object.values(seen);
  for (const [name, lines] of Object.entries(seen)) expect(lines, name).toEqual(first);
  const { workdir } = world;
  const wanted = [
    `PATH=${PATH}`,
    `HOOKBOX_PATH=${PATH}`,
    "HOME=/tmp",
    "FROM_IMAGE=a b",
    "BOUND=by bind",
    "OVER=by bind",
  ];
  const places = [
    `PWD=${workdir}`,
    workdir,
    "TERM=xterm-256color",
    "LANG=C.UTF-8",
    execFileSync("id", { encoding: "utf8" }).trim(),
  ];
  expect(first).toEqual(
    expect.arrayContaining([...wanted, ...places, `0${process.umask().toString(8).padStart(3, "0")}`]),
  );
  expect(first.filter((line) => line.startsWith("OLDPWD"))).toEqual([]);
});

test.for([
  {
    name: "an image without variables",
    inherited: {},
    want: { PATH: expect.stringContaining("/usr/local/bin"), LANG: "C.UTF-8" },
  },
  {
    name: "a locale of the image",
    inherited: { LC_ALL: "de_DE.UTF-8" },
    want: { LC_ALL: "de_DE.UTF-8" },
    lacks: "LANG",
  },
  { name: "an empty locale", inherited: { LANG: "" }, want: { LANG: "C.UTF-8" } },
  { name: "a terminal of the image", inherited: { TERM: "dumb" }, want: { TERM: "dumb" } },
  {
    name: "variables of the command",
    inherited: { A: "1", PATH: "/bin" },
    env: { A: "2", PATH: "/sbin" },
    want: { A: "2", HOOKBOX_PATH: "/sbin" },
  },
])("composeEnvironment(): $name", ({ inherited, env = {}, want, lacks }) => {
  const composed = composeEnvironment({ cwd: "/w", env: env as Record<string, string> }, inherited);
  expect(composed).toMatchObject({ ...want, PWD: "/w", HOME: expect.stringMatching(/^\//) });
  if (lacks) expect(composed).not.toHaveProperty(lacks);
});

test("a login shell keeps the PATH of the image, although /etc/profile replaces it", () => {
  const file = readFileSync("deploy/runtime/Containerfile", "utf8");
  const line = /echo '(.+)' > \/etc\/profile\.d\/hookbox\.sh/.exec(file)?.[1] ?? "";
  const ask = `PATH=/reset; ${line}; echo "$PATH"; env -i /bin/sh -c 'PATH=/reset; ${line}; echo "$PATH"'`;
  const env = composeEnvironment({ cwd: "/", env: {} }, { PATH: "/workspace/.local/bin:/usr/bin:/bin" });
  expect(execFileSync("/bin/sh", ["-c", ask.replace("env -i", "/usr/bin/env -i")], { env, encoding: "utf8" }))
    .toBe("/workspace/.local/bin:/usr/bin:/bin\n/reset\n");
});
