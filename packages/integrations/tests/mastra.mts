/** Uses the sandbox alone, and by the tools of a workspace. @module */
import assert from "node:assert/strict";
import process from "node:process";
import { HookboxSandbox } from "@hookbox/mastra";
import { createWorkspaceTools, Workspace, WORKSPACE_TOOLS } from "@mastra/core/workspace";
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
const tools = await createWorkspaceTools(workspace);
const said = await tools[WORKSPACE_TOOLS.SANDBOX.EXECUTE_COMMAND].execute(
  { command: "echo hello $WHO" },
  { workspace },
);
assert.match(JSON.stringify(said), /hello you/);

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
