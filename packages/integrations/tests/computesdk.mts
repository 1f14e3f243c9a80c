/** Uses each method of ComputeSDK. @module */
import assert from "node:assert/strict";
import process from "node:process";
import { hookbox } from "@hookbox/computesdk";
import { compute } from "computesdk";
import { SandboxClient } from "hookbox";

const [kubeconfig = "", routerUrl = ""] = process.argv.slice(2);
const client = new SandboxClient({ kubeconfig, routerUrl, routerPathPrefix: "/s" });
const sdk = compute({ provider: hookbox({ client, image: "busybox" }) });
const sandbox = await sdk.sandbox.create({ name: "box", timeout: 600_000, metadata: { run: 1 } });
assert.deepEqual([sandbox.sandboxId, sandbox.provider], ["box", "hookbox"]);
const { metadata, createdAt: _, ...info } = await sandbox.getInfo();
assert.deepEqual(info, { id: "box", provider: "hookbox", status: "running", timeout: info.timeout });
assert.ok(Math.abs(info.timeout - 600_000) < 60_000);
assert.equal(metadata?.["run"], "1");

const streamed: string[] = [];
const onStdout = (text: string) => void streamed.push(text);
const env = { WHO: "you" };
const { stdout, stderr, exitCode } = await sandbox.runCommand("echo hello $WHO; echo no >&2; exit 3", { env });
assert.deepEqual([stdout, stderr, exitCode], ["hello you\n", "no\n", 3]);
assert.equal((await sandbox.runCommand("echo streamed", { onStdout })).exitCode, 0);
assert.equal(streamed.join(""), "streamed\n");
await assert.rejects(sandbox.runCommand("sleep 600", { timeout: 300 }), { name: "TimeoutError" });
assert.equal((await sandbox.runCommand("sleep 600", { background: true })).exitCode, 0);

await sandbox.filesystem.mkdir("folder");
await sandbox.filesystem.writeFile("folder/a.txt", "text");
assert.equal(await sandbox.filesystem.readFile("folder/a.txt"), "text");
const [entry] = await sandbox.filesystem.readdir("folder");
assert.deepEqual([entry?.name, entry?.type, entry?.size], ["a.txt", "file", 4]);
assert.equal((await sandbox.runCommand("pwd", { cwd: "folder" })).stdout.trim().endsWith("/folder"), true);
await sandbox.filesystem.remove("folder");
assert.equal(await sandbox.filesystem.exists("folder"), false);
assert.match(await sandbox.getUrl({ port: 3000 }), /^http:/);

await client.create({ image: "busybox", name: "other" });
await client.suspend("other");
const ids = (await hookbox({ client }).sandbox.list()).map(({ sandboxId }) => sandboxId);
assert.deepEqual(ids, ["box"]);
assert.equal((await sdk.sandbox.getById("box"))?.sandboxId, "box");
assert.equal(await sdk.sandbox.getById("none"), null);
await sandbox.destroy();
assert.equal(await sdk.sandbox.getById("box"), null);
process.stdout.write("ok\n");
