/** `hookbox mcp` as a process that an agent starts. @module */
import { spawn } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { expect, onTestFinished, test } from "vitest";
import { eventually, until } from "../../eventually.ts";
import { INITIALIZE } from "./httpstage.ts";
import { callerOf, textOf } from "./stage.ts";

const CHILD = fileURLToPath(new URL("child.ts", import.meta.url));

/** Starts it as an agent does. */
async function startAgent(...args: string[]) {
  const transport = new StdioClientTransport({ command: process.execPath, args: [CHILD, ...args], stderr: "pipe" });
  let stderr = "";
  transport.stderr?.on("data", (chunk) => stderr += chunk);
  const client = new Client({ name: "test", version: "1" });
  await client.connect(transport);
  onTestFinished(() => client.close());
  return { client, call: callerOf(client), stderr: () => stderr };
}

test("an agent that goes leaves nothing behind", async () => {
  const { client, call, stderr } = await startAgent();
  expect(client.getServerVersion()).toMatchObject({ name: "hookbox", version: expect.stringMatching(/^\d/) });
  await call("create_sandbox", { name: "job" });
  const ran = await call("execute_command", { sandbox: "job", command: "echo in a sandbox" });
  expect(textOf(ran)).toBe("exit code 0\n--- stdout\nin a sandbox");
  await client.close();
  await eventually(stderr).toBe("Deleted job.\nleft: []\n");
});

test("with --no-delete-on-exit they stay", async () => {
  const { client, call, stderr } = await startAgent("--no-delete-on-exit", "--pool", "python");
  await call("create_sandbox", { name: "job" });
  await client.close();
  await eventually(stderr).toBe('left: ["job"]\n');
});

const ENDS = ["SIGTERM", "SIGINT", "end of input"] as const;

test("a signal and the end of input end it cleanly; it prints messages alone", async () => {
  const ended = await Promise.all(ENDS.map(async (how) => {
    const child = spawn(process.execPath, [CHILD], { stdio: "pipe" });
    onTestFinished(() => void child.kill("SIGKILL"));
    let [stdout, stderr] = ["", ""];
    child.stdout.on("data", (chunk) => stdout += chunk);
    child.stderr.on("data", (chunk) => stderr += chunk);
    const closed = new Promise((resolve) => child.on("close", (code, signal) => resolve([code, signal])));
    child.stdin.write(`${JSON.stringify(INITIALIZE)}\n`);
    const params = { name: "create_sandbox", arguments: { name: "job" } };
    child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: 2, method: "tools/call", params })}\n`);
    await until(() => stdout.includes("Created job"));
    if (how === "end of input") child.stdin.end();
    else child.kill(how);
    const exit = await closed;
    const messages = stdout.trimEnd().split("\n").map((line) => JSON.parse(line));
    return { how, exit, stderr, isPure: messages.every(({ jsonrpc }) => jsonrpc === "2.0") };
  }));
  const clean = { exit: [0, null], stderr: "Deleted job.\nleft: []\n", isPure: true };
  expect(ended).toEqual(ENDS.map((how) => ({ how, ...clean })));
});
