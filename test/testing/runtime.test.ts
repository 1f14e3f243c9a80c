/** createTestCluster({ runtime: "local" }): an agent's whole day, without a cluster. @module */
import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { SandboxClient } from "../../packages/sdk/client.ts";
import { createTestCluster } from "../../packages/testing/mod.ts";
import { eventually } from "../eventually.ts";

test("commands run, files stay where there is a volume, and go where there is none", async () => {
  await using cluster = await createTestCluster({ time: "auto", runtime: "local" });
  const client = new SandboxClient(cluster.client);
  for (const volumes of [[{ name: "work", size: "1Gi", path: "/workspace" }], []]) {
    const sandbox = await client.create({ image: "python", volumes });
    await sandbox.files.write("a/b.txt", "kept");
    const { stdout } = await sandbox.commands.run("cat b.txt; echo $COLOUR", { cwd: "a", env: { COLOUR: "red" } });
    expect(stdout).toBe("keptred\n");
    await sandbox.suspend();
    const again = await client.connect(sandbox.name);
    expect(await again.files.exists("a/b.txt")).toBe(volumes.length > 0);
  }
});

test("what runs in a sandbox ends with it, and nothing is left", async () => {
  const cluster = await createTestCluster({ time: "auto", runtime: "local" });
  const client = new SandboxClient(cluster.client);
  const sandbox = await client.create({ image: "python" });
  const { stdout: folder } = await sandbox.commands.run("pwd");
  const server = await sandbox.commands.run("echo $$; exec sleep 600", { background: true });
  let pid = "";
  for await (const { text } of server) {
    pid = text.trim();
    break;
  }
  expect(existsSync(`/proc/${pid}/cmdline`)).toBe(true);
  await sandbox.kill();
  await cluster.clock.advance(10_000);
  await eventually(() => existsSync(`/proc/${pid}/cmdline`)).toBe(false);
  await cluster.stop();
  expect(existsSync(folder.trim())).toBe(false);
});

test("without it nothing is inside, and nothing runs on this machine", async () => {
  await using cluster = await createTestCluster({ time: "auto" });
  expect(cluster.client.pods).toBeUndefined();
});
