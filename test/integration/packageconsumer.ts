/** A project that uses the package, as texts: our own compiler must not look for an installed hookbox. @module */

/** As strict as a project can be: what is published must compile for all. */
export const TSCONFIG = {
  compilerOptions: {
    module: "nodenext",
    target: "es2024",
    lib: ["es2024", "esnext.disposable", "dom"],
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: false,
    noEmit: true,
    types: ["node"],
  },
  include: ["*.ts"],
};

/** Uses what the SDK exports, rightly and wrongly. */
export const CONSUMER = `
import { Sandbox, SandboxError } from "hookbox";

export async function agent(): Promise<string> {
  await using sandbox = await Sandbox.create({ pool: "python", timeoutMs: 60_000 });
  const { exitCode, stdout } = await sandbox.commands.run("echo hello");
  const code: number = exitCode;
  return stdout + code;
}

export async function wrong(sandbox: Sandbox): Promise<void> {
  // @ts-expect-error: the unit is in the name
  await Sandbox.create({ pool: "python", timeout: 60 });
  // @ts-expect-error: there is no such call
  await sandbox.comands.run("true");
  // @ts-expect-error: a number of milliseconds
  await sandbox.setTimeout("60s");
}

export function isOurs(error: unknown): string | undefined {
  return error instanceof SandboxError ? error.remedy : undefined;
}
`;

/** Uses a cluster in memory with it. */
export const TESTER = `
import { SandboxClient } from "hookbox";
import { createTestCluster } from "@hookbox/testing";

export async function inMemory(): Promise<SandboxClient> {
  const cluster = await createTestCluster({ time: "auto" });
  // @ts-expect-error: time is fake or moves by itself
  await createTestCluster({ time: "real" });
  return new SandboxClient({ api: cluster.api });
}
`;

/** Needs no cluster: the SDK makes a sandbox on the hooks in memory, and what makes no sense fails as it should. */
export const USE = `
import assert from "node:assert";
import process from "node:process";
import { InvalidArgumentError, SandboxClient } from "hookbox";
import { createTestCluster } from "@hookbox/testing";
import manifest from "hookbox/package.json" with { type: "json" };

assert.equal(manifest.name, "hookbox");
const cluster = await createTestCluster({ time: "auto" });
const client = new SandboxClient({ api: cluster.api, connection: "direct" });
await assert.rejects(client.create({ pool: "a", image: "b" }), InvalidArgumentError);
const sandbox = await client.create({ image: "busybox", name: "a" });
assert.equal((await sandbox.getInfo()).state, "Ready");
assert.equal(await sandbox.kill(), true);
await cluster.stop();
process.stdout.write("ok\\n");
`;
