/** `hookbox exec -it` on a real terminal, through a router alone, into a real runtime. @module */
import { spawn as spawnPTY } from "@lydell/node-pty";
import { Buffer } from "node:buffer";
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { eventually } from "../eventually.ts";
import { aSandbox } from "../sdk/localtransport.ts";

const MAIN = fileURLToPath(new URL("../../packages/cli/main.ts", import.meta.url));

/** A runtime answers a router's requests as well: it takes no notice of the headers that name a sandbox. */
async function aRouter() {
  const { port, root } = await aSandbox();
  const { PATH = "" } = process.env;
  const env = { PATH, HOME: "/nowhere", TERM: "xterm", HOOKBOX_ROUTER_URL: `http://127.0.0.1:${port}` };
  return { env, root: root.path };
}

async function onTerminal(...args: string[]) {
  const { env } = await aRouter();
  const child = spawnPTY(process.execPath, [MAIN, ...args], { cols: 90, rows: 20, env });
  let screen = "";
  let code: number | undefined;
  child.onData((data) => screen += data);
  child.onExit(({ exitCode }) => code = exitCode);
  onTestFinished(() => code === undefined ? child.kill("SIGKILL") : undefined);
  const shows = (words: RegExp) => eventually(() => screen).toMatch(words);
  const ends = async () => {
    await eventually(() => code).toBeDefined();
    return code;
  };
  return { child, shows, ends, screen: () => screen };
}

test("keys, size and Ctrl-C are the program's, and so is the exit code", async () => {
  const { child, shows, ends } = await onTerminal("exec", "-it", "box", "--", "sh", "-c", "stty size; exec sh -i");
  await shows(/20 90/);
  child.resize(100, 30);
  child.write("sleep 60\r");
  await shows(/sleep 60/);
  child.write("\x03");
  child.write("stty size; echo $((6 * 7))x\r");
  await shows(/30 100[^]*42x/);
  child.write("exit 9\r");
  expect(await ends()).toBe(9);
});

test("a spinner turns on the terminal, and leaves nothing behind", async () => {
  const { ends, screen } = await onTerminal("exec", "box", "--", "echo", "done");
  expect(await ends()).toBe(0);
  const { length } = screen();
  expect(screen().slice(length - 6)).toBe("done\r\n");
});

test("Ctrl-C ends a command that has no terminal, with 130; nothing of it runs on", async () => {
  const { env, root } = await aRouter();
  const args = [MAIN, "exec", "box", "--", "sh", "-c", "touch begun; sleep 600; touch late"];
  const child = spawn(process.execPath, args, { env });
  const ended = new Promise((resolve) => child.once("exit", (code, signal) => resolve({ code, signal })));
  await eventually(() => existsSync(join(root, "begun"))).toBe(true);
  child.kill("SIGINT");
  expect(await ended).toEqual({ code: 130, signal: null });
  const pgrep = ["exec", "box", "--", "pgrep", "-f", "[t]ouch late"];
  await eventually(async () => (await run(env, pgrep)).exitCode).toBe(1);
});

test("bytes of all values go both ways, and a reader that goes away ends the command", async () => {
  const { env } = await aRouter();
  const every = Uint8Array.from({ length: 256 }, (_, i) => i);
  const { stdout } = await run(env, ["exec", "-i", "box", "--", "cat"], every);
  expect([...stdout]).toEqual([...every]);
  const line = `"${process.execPath}" "${MAIN}" exec box -- yes | head -n 1; echo "\${PIPESTATUS[0]}"`;
  const piped = await run(env, ["-c", line], undefined, "bash");
  expect(piped.stdout.toString()).toBe("y\n141\n");
});

function run(env: Record<string, string>, args: string[], input?: Uint8Array, program?: string) {
  return new Promise<{ exitCode: number | null; stdout: Buffer }>((resolve, reject) => {
    const child = program ? spawn(program, args, { env }) : spawn(process.execPath, [MAIN, ...args], { env });
    const parts: Buffer[] = [];
    child.stdout.on("data", (part: Buffer) => parts.push(part));
    child.once("error", reject).once("close", (exitCode) => resolve({ exitCode, stdout: Buffer.concat(parts) }));
    child.stdin.end(input);
  });
}
