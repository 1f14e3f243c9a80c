/** The packed SDK on the runtimes that it is for, and on one that is too old. @module */
import { execFile } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { beforeAll, expect, test } from "vitest";
import { npmPackages } from "../npmpackages.ts";
import { makeTempFolder } from "../tempfolder.ts";
import { AGENT, PRINTED, REQUIRING_AGENT } from "./packageagent.ts";
import { BIN, packedProject } from "./packed.ts";
import { serveSandboxes } from "./servedsandboxes.ts";

/** Programs of the packages in tools.json. */
let installed: (path: string) => string;
let project: string;

beforeAll(async () => {
  const tools = await npmPackages(fileURLToPath(new URL("tools.json", import.meta.url)));
  installed = (path) => join(tools, "node_modules", path);
  project = (await packedProject("sdkConsumer")).folder;
});

const NODES = {
  // The oldest that package.json names.
  "Node 22": () => [installed(`node22-${process.arch}/bin/node`)],
  "Node 24": () => [join(BIN, "node")],
};
const OTHERS = {
  Deno: () => [join(BIN, "deno"), "run", "-A"],
  Bun: () => [installed(`@oven/bun-linux-${process.arch === "x64" ? "x64" : "aarch64"}/bin/bun`)],
};

/** Runs the agent on a cluster in memory. */
async function run([program = "", ...flags]: string[], file: string, agent: string) {
  const folder = mkdtempSync(join(project, "run-"));
  writeFileSync(join(folder, file), agent);
  const { cluster, kubeconfig, routerUrl } = await serveSandboxes();
  const args = [...flags, file, kubeconfig, routerUrl, makeTempFolder()];
  const running = promisify(execFile)(program, args, { cwd: folder });
  return { cluster, ...await running.catch((error: { stdout: string; stderr: string }) => error) };
}

test.for(Object.entries({ ...NODES, ...OTHERS }))("runs on %s", async ([, command]) => {
  const { stdout, stderr } = await run(command(), "agent.mjs", AGENT);
  expect([stdout && JSON.parse(stdout), stderr]).toEqual([PRINTED, ""]);
});

test.for(Object.entries(NODES))("CommonJS on %s can require it", async ([, command]) => {
  const { stdout, stderr } = await run(command(), "agent.cjs", REQUIRING_AGENT);
  expect([stdout && JSON.parse(stdout), stderr]).toEqual([PRINTED, ""]);
});

test("Node 20 says at import which Node it takes, and has created nothing", async () => {
  const { cluster, stdout, stderr } = await run([installed(`node20-${process.arch}/bin/node`)], "agent.mjs", AGENT);
  expect(stderr).toMatch(
    /^Error: Cannot load hookbox: Node v20\.\d+\.\d+ is too old\. Use Node 22\.19 or later, Deno 2, Bun, or a browser /m,
  );
  expect(Math.max(...stderr.split("\n").map(({ length }) => length))).toBeLessThan(500);
  expect([stdout, cluster.objects("Sandbox")]).toEqual(["", []]);
});
