/** The package as others get it: packed, installed into a project of its own, used with types on Node and on Deno. @module */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CONSUMER, TSCONFIG, USE } from "./packageconsumer.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const BIN = join(ROOT, "node_modules/.bin");
const project = mkdtempSync(join(tmpdir(), "hookbox-consumer-"));
const installed = join(project, "node_modules/hookbox");

const FILES = ["LICENSE", "README.md", "package.json"];
/** Those of modules, and those of data. `dev` is the engine in memory, which hookbox/testing runs on. */
const ROOMS = [
  ...[
    "api",
    "binder",
    "claims",
    "cli",
    "dev",
    "diagnosis",
    "hooks",
    "keeper",
    "kube",
    "lib",
    "replay",
    "router",
    "runtime",
    "sdk",
  ],
  ...["mcp", "testing", "tools"],
  ...["compositecontrollers", "crds", "decoratorcontrollers", "deploy"],
];
const SUFFIXES = ["", ".css", ".d.ts", ".js", ".json", ".map", ".md", ".mjs", ".py", ".svg", ".yaml"];

/** Runs a program in the project, and resolves with what it wrote. */
async function run(command: string, ...args: string[]): Promise<string> {
  const { stdout, stderr } = await promisify(execFile)(command, args, { cwd: project });
  return stdout + stderr;
}

beforeAll(async () => {
  await promisify(execFile)("npm", ["pack", "--pack-destination", project], { cwd: ROOT });
  const [tarball = ""] = globSync("*.tgz", { cwd: project });
  writeFileSync(join(project, "package.json"), JSON.stringify({ private: true, type: "module" }));
  writeFileSync(join(project, "tsconfig.json"), JSON.stringify(TSCONFIG));
  writeFileSync(join(project, "consumer.ts"), CONSUMER);
  writeFileSync(join(project, "use.mjs"), USE);
  await run("npm", "install", "--prefer-offline", "--no-audit", "--no-fund", `./${tarball}`);
}, 300_000);

afterAll(() => rmSync(project, { recursive: true, force: true }));

test("what is packed is what runs: built code and the files that it reads, and nothing of the workshop", () => {
  const files = globSync("**", { cwd: installed, withFileTypes: true }).filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(installed.length + 1));
  const folders = new Set(files.map((file) => file.startsWith("dist/") ? file.split("/").slice(0, 2).join("/") : file));
  expect([...folders].sort()).toEqual([...FILES, "dist/package.json", ...ROOMS.map((room) => `dist/${room}`)].sort());
  const suffixes = new Set(files.map((file) => /((\.d)?\.[^.]+|)$/.exec(file)?.[0]));
  expect([...suffixes].sort()).toEqual([...SUFFIXES].sort());
});

test("a project compiles against its types, those of its dependencies included", async () => {
  await expect(run(process.execPath, join(BIN, "tsc"), "-p", "tsconfig.json")).resolves.toBe("");
});

test("it compiles for Deno", async () => {
  await expect(run(join(BIN, "deno"), "check", "--quiet", "consumer.ts")).resolves.toBe("");
});

test.for([
  { runtime: "Node", command: join(BIN, "node"), args: ["use.mjs"] },
  { runtime: "Deno", command: join(BIN, "deno"), args: ["run", "-A", "use.mjs"] },
])("it runs on $runtime", async ({ command, args }) => {
  await expect(run(command, ...args)).resolves.toBe("ok\n");
});

test.for(["hookbox", "kubectl-hookbox"])("npx %s shows how it is used", async (program) => {
  await expect(run("npx", "--no-install", program, "--help")).resolves.toContain("Usage: ");
});

test.for(globSync("{hooks/*,keeper,router,runtime}/main.ts", { cwd: ROOT }).sort())(
  "%s is a program of the package: dependencies of development are not missed",
  async (main) => {
    const program = join(installed, "dist", main.replace(/\.ts$/, ".js"));
    await expect(run(process.execPath, program, "--help")).resolves.toMatch(/^Usage: |--port/);
  },
);

test("what reads files of the checkout finds them in the package", async () => {
  const { renderManifests } = await import("../../packages/manifests/render.ts");
  await expect(run(join(project, "node_modules/.bin/hookbox"), "manifests")).resolves.toBe(renderManifests(undefined));
  const { version } = JSON.parse(readFileSync(join(installed, "dist/package.json"), "utf8"));
  expect(version).toBe(JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")).version);
});

test("hookbox serve answers for all hooks", async () => {
  const program = join(installed, "dist/cli/main.js");
  const server = spawn(process.execPath, [program, "serve", "--host", "127.0.0.1", "--port", "0"], { cwd: project });
  try {
    const [line] = await once(server.stderr, "data", { signal: AbortSignal.timeout(60_000) });
    const { port } = JSON.parse(String(line).split("\n")[0] ?? "");
    for (const hook of ["sandbox", "sandboxclaim", "sandboxtemplate", "sandboxwarmpool"]) {
      const answer = await fetch(`http://127.0.0.1:${port}/${hook}/sync`, { method: "POST", body: "{}" });
      expect(answer.status).toBe(400);
      expect(await answer.json()).toMatchObject({
        issues: expect.arrayContaining(["finalizing: invalid_type"]),
      });
    }
  } finally {
    server.kill();
    await once(server, "exit");
  }
});
