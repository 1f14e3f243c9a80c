/** A scripted model uses the sandbox by the tools of an agent; then the sandbox is used alone. @module */
import assert from "node:assert/strict";
import process from "node:process";
import { HookboxSandbox } from "@hookbox/mastra";
import { Agent } from "@mastra/core/agent";
import type { MastraModelConfig } from "@mastra/core/llm";
import { Workspace, WORKSPACE_TOOLS } from "@mastra/core/workspace";
import { MockLanguageModelV4 } from "ai/test";
import { SandboxClient } from "hookbox";

const [kubeconfig = "", routerUrl = ""] = process.argv.slice(2);
const client = new SandboxClient({ kubeconfig, routerUrl, routerPathPrefix: "/s" });
const outcomes: unknown[] = [];
const make = () =>
  new HookboxSandbox({
    client,
    id: "box",
    image: "busybox",
    env: { WHO: "you" },
    onStart: ({ outcome }) => void outcomes.push(outcome),
  });
const sandbox = make();
const workspace = new Workspace({ sandbox });
const call = {
  type: "tool-call" as const,
  toolCallId: "1",
  toolName: WORKSPACE_TOOLS.SANDBOX.EXECUTE_COMMAND,
  input: JSON.stringify({ command: "echo hello $WHO; exit 3" }),
};
const model = new MockLanguageModelV4({
  doGenerate: [[call], [{ type: "text" as const, text: "done" }]].map((content) => ({
    content,
    finishReason: { unified: content[0] === call ? "tool-calls" as const : "stop" as const, raw: undefined },
    usage: {
      inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: 1, text: 1, reasoning: 0 },
    },
    warnings: [],
  })),
});
// Its types lack a model that has no streams.
const scripted = model as unknown as MastraModelConfig;
const agent = new Agent({ id: "coder", name: "coder", instructions: "You write Python.", model: scripted, workspace });
const { text, toolResults } = await agent.generate("Greet me.");
assert.equal(text, "done");
assert.match(JSON.stringify(toolResults), /hello you/);

const { stdout, stderr, exitCode, success } = await sandbox.executeCommand!("sh", [
  "-c",
  "echo out; echo err >&2; exit 3",
]);
assert.deepEqual([stdout, stderr, exitCode, success], ["out\n", "err\n", 3, false]);
const late = await sandbox.executeCommand!("sleep 600", [], { timeout: 300 });
assert.deepEqual([late.timedOut, late.exitCode], [true, 124]);

await sandbox.writeFiles([{ path: "folder/a.txt", content: "text", mode: 0o600 }]);
assert.equal((await sandbox.executeCommand!("cat", ["a.txt"], { cwd: "folder" })).stdout, "text");

const handle = await sandbox.processes!.spawn("read word; echo got $word; sleep 600");
await handle.sendStdin("it\n");
for await (const piece of handle.reader) if (String(piece).includes("got it")) break;
assert.deepEqual((await sandbox.processes!.list()).find(({ pid }) => pid === handle.pid)?.running, true);
assert.equal(await handle.kill(), true);
assert.equal((await handle.wait()).success, false);

assert.equal((await sandbox.getInfo()).status, "running");
assert.match(await sandbox.networking.getPortUrl(3000) ?? "", /^http:/);
await sandbox.stop();
assert.equal((await client.getInfo("box")).state, "Suspended");
const again = make();
assert.equal((await again.executeCommand!("echo", ["again"])).stdout, "again\n");
assert.deepEqual(outcomes, ["created", "connected"]);
await again.destroy();
assert.equal(await client.kill("box"), false);
process.stdout.write("ok\n");
