/** A Mastra agent with a scripted model and the workspace of `@mastra/e2b`; then the sandbox is used alone. @module */
import process from "node:process";
import { Agent } from "@mastra/core/agent";
import { createCodeMode, createTool } from "@mastra/core/tools";
import { Workspace, WORKSPACE_TOOLS } from "@mastra/core/workspace";
import { E2BCodeModeTransport, E2BSandbox } from "@mastra/e2b";
import { MockLanguageModelV4 } from "ai/test";
import { z } from "zod";
import { check, report } from "./checks.mjs";

const HAS_HOME = process.env.SANDBOX_HOME === undefined;
const id = `session-${process.pid}`;
const make = () => new E2BSandbox({ id, template: "base", env: { WHO: "you" } });
const sandbox = make();
const workspace = new Workspace({ sandbox });
const add = createTool({
  id: "add",
  description: "Adds.",
  inputSchema: z.object({ a: z.number(), b: z.number() }),
  outputSchema: z.number(),
  execute: ({ a, b }) => Promise.resolve(a + b),
});
const { tool } = createCodeMode({ tools: { add }, sandbox }, new E2BCodeModeTransport());
const calls = [
  [WORKSPACE_TOOLS.SANDBOX.EXECUTE_COMMAND, { command: "echo hello $WHO; exit 3" }],
  // It writes below /home/user, whatever the home directory is.
  ...HAS_HOME ? [["execute_typescript", { code: "return await external_add({ a: 40, b: 2 });" }]] : [],
].map(([toolName, input], i) => ({ type: "tool-call", toolCallId: `${i}`, toolName, input: JSON.stringify(input) }));
const model = new MockLanguageModelV4({
  doGenerate: [...calls, { type: "text", text: "done" }].map((part) => ({
    content: [part],
    finishReason: { unified: part.type === "tool-call" ? "tool-calls" : "stop", raw: undefined },
    usage: {
      inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: 1, text: 1, reasoning: 0 },
    },
    warnings: [],
  })),
});
await check("agent", async () => {
  const coder = { id: "coder", name: "coder", instructions: "You write Python.", model, workspace };
  const agent = new Agent({ ...coder, tools: { execute_typescript: tool } });
  const { text, steps } = await agent.generate("Greet me.");
  const results = JSON.stringify(steps.flatMap(({ toolResults }) => toolResults));
  return [text, results.includes("hello you"), results.includes('"result":42')];
}, ["done", true, HAS_HOME]);
await check("command", async () => {
  const { stdout, stderr } = await sandbox.executeCommand("sh", ["-c", "echo out; echo err >&2"]);
  // The package returns the output of a command that fails twice.
  const { exitCode } = await sandbox.executeCommand("exit 3");
  return [stdout, stderr, exitCode];
}, ["out\n", "err\n", 3]);
await check(
  "time limit",
  async () => (await sandbox.executeCommand("sleep 600", [], { timeout: 1000 })).success,
  false,
);
await check("files", async () => {
  const { path } = await sandbox.e2b.files.write("folder/a.txt", "text");
  const folder = path.replace("/a.txt", "");
  return (await sandbox.executeCommand("cat", ["a.txt"], { cwd: folder })).stdout;
}, "text");
await check("process", async () => {
  const handle = await sandbox.processes.spawn("read word; echo got $word; sleep 600");
  const said = new Promise((resolve) => handle.reader.once("data", (data) => resolve(String(data))));
  await handle.sendStdin("it\n");
  const first = await said;
  return [first, await handle.kill()];
}, ["got it\n", true]);
await check("reconnect", async () => {
  const again = make();
  await again.start();
  return [again.e2b.sandboxId === sandbox.e2b.sandboxId, await again.e2b.files.read("folder/a.txt")];
}, [true, "text"]);
await check("stop and resume", async () => {
  const before = sandbox.e2b.sandboxId;
  await sandbox.stop();
  const again = make();
  await again.start();
  return [again.e2b.sandboxId === before, await again.e2b.files.read("folder/a.txt")];
}, [true, "text"]);
await check("kill", async () => {
  const last = make();
  await last.start();
  const { e2b } = last;
  await last.destroy();
  return await e2b.isRunning();
}, false);
report();
