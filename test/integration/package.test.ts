/** What is published, as others get it: packed, installed into a project of its own, used with types on Node and on Deno. @module */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, globSync, lstatSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { beforeAll, expect, test } from "vitest";
import { hookNames } from "../../hooks/all.ts";
import { makeTempFolder } from "../tempfolder.ts";
import { CONSUMER, TESTER, TSCONFIG, USE } from "./packageconsumer.ts";
import { BIN, packedProject, type Project } from "./packed.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const MEGABYTE = 1e6;

let project: Project;

beforeAll(async () => {
  project = await packedProject();
  writeProject(project.folder, { "consumer.ts": CONSUMER, "tester.ts": TESTER });
  writeFileSync(join(project.folder, "use.mjs"), USE);
});

/** Writes a project's files of TypeScript, and a configuration for them; Node's types come from this checkout. */
function writeProject(folder: string, files: Record<string, string>): void {
  const typeRoots = [join(ROOT, "node_modules/@types")];
  const config = { ...TSCONFIG, compilerOptions: { ...TSCONFIG.compilerOptions, typeRoots } };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
}

const installed = (name: string) => join(project.folder, "node_modules", name);

function filesIn(folder: string): string[] {
  return globSync("**", { cwd: folder, withFileTypes: true }).filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1));
}

/** What files take, in bytes. */
function sizeOf(folder: string, pattern = "**"): number {
  return globSync(pattern, { cwd: folder }).reduce((sum, file) => {
    const stats = lstatSync(join(folder, file));
    return sum + (stats.isFile() ? stats.size : 0);
  }, 0);
}

test.for(["hookbox", "@hookbox/cli", "@hookbox/testing"])(
  "%s has what was built, and nothing of the workshop",
  (name) => {
    const files = filesIn(installed(name));
    expect(files.filter((file) => !file.startsWith("dist/")).sort()).toEqual(["LICENSE", "README.md", "package.json"]);
    expect(files.filter((file) => file.endsWith(".ts") && !file.endsWith(".d.ts"))).toEqual([]);
  },
);

test(
  "the SDK installs at most 25 packages and 25 MB",
  async () => {
    const { folder } = await packedProject("sdkConsumer");
    const packages = Object.keys(
      JSON.parse(readFileSync(join(folder, "node_modules/.package-lock.json"), "utf8")).packages,
    );
    expect(packages).toContain("node_modules/hookbox");
    expect(packages).not.toContain("node_modules/@kubernetes/client-node");
    expect(packages.length).toBeLessThanOrEqual(25);
    expect(sizeOf(join(folder, "node_modules"))).toBeLessThan(25 * MEGABYTE);
  },
);

test("a project compiles against its types, those of its dependencies included", async () => {
  await expect(project.run(process.execPath, [join(BIN, "tsc"), "-p", "tsconfig.json"])).resolves.toBe("");
});

test("it compiles for Deno", async () => {
  await expect(project.run(join(BIN, "deno"), ["check", "--quiet", "consumer.ts", "tester.ts"])).resolves.toBe("");
});

test.for([
  { runtime: "Node", command: join(BIN, "node"), args: ["use.mjs"] },
  { runtime: "Deno", command: join(BIN, "deno"), args: ["run", "-A", "use.mjs"] },
])("it runs on $runtime", async ({ command, args }) => {
  await expect(project.run(command, args)).resolves.toBe("ok\n");
});

test.for(["hookbox", "kubectl-hookbox"])("npx %s shows how it is used", async (program) => {
  await expect(project.run("npx", ["--no-install", program, "--help"])).resolves.toContain("Usage: ");
});

test.for(["serve", "keeper", "binder", "router", "runtime"])(
  "hookbox %s is a process of the package: dependencies of development are not missed",
  async (name) => {
    const args = [join(installed("@hookbox/cli"), "dist/main.js"), name, "--help"];
    await expect(project.run(process.execPath, args)).resolves.toMatch(/^Usage: /);
  },
);

test("what reads files of the checkout finds them in the package", async () => {
  const { renderManifests } = await import("../../packages/manifests/render.ts");
  const hookbox = join(project.folder, "node_modules/.bin/hookbox");
  await expect(project.run(hookbox, ["manifests"])).resolves.toBe(renderManifests(undefined));
  const { renderBundle } = await import("../../packages/cli/install/bundle.ts");
  const all = { namespace: "hookbox-system", processes: true };
  await expect(project.run(hookbox, ["install"])).resolves.toBe(renderBundle(all));
  const { version } = JSON.parse(readFileSync(join(ROOT, "packages/cli/package.json"), "utf8"));
  await expect(project.run(hookbox, ["--version"])).resolves.toBe(`${version}\n`);
});

test("hookbox get loads three files, and takes Node's modules without their getters", () => {
  const textOf = (file: string) => readFileSync(join(installed("@hookbox/cli"), "dist", file), "utf8");
  const importsIn = (file: string) => [...textOf(file).matchAll(/(?:from|import)"([^"]+)"/g)].map(([, from]) => from);
  const [, start = ""] = /import\(`\.\/(start-[^`]+)`\)\.then/.exec(textOf("main.js")) ?? [];
  const [, get = ""] = /import\(`\.\/(cluster-[^`]+)`\)\.then\(group=>\(\{defineGet:/.exec(textOf(start)) ?? [];
  expect([importsIn("main.js"), importsIn(start), importsIn(get)]).toEqual([[], [], [`./${start}`]]);
});

test("hookbox serve answers for all hooks", async () => {
  const program = join(installed("@hookbox/cli"), "dist/main.js");
  const args = [program, "serve", "--host", "127.0.0.1", "--port", "0"];
  const server = spawn(process.execPath, args, { cwd: project.folder });
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

/** Copies a bundle to where no package can be found. @returns the path of its program */
function alone(bundle: string, file: string): string {
  const folder = makeTempFolder();
  const copy = join(folder, file);
  mkdirSync(dirname(copy), { recursive: true });
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  cpSync(join(ROOT, bundle), dirname(copy), { recursive: true });
  return copy;
}

test.for(hookNames)("hook %s is one file below 1 MB that needs no package, on Node and on Deno", async (hook) => {
  const program = alone("hooks/dist", `${hook}.js`);
  expect(lstatSync(program).size).toBeLessThan(MEGABYTE);
  for (const [command, ...args] of [["node"], ["deno", "run", "--allow-net=127.0.0.1"]] as [string, ...string[]][]) {
    const server = spawn(join(BIN, command), [...args, program, "--host", "127.0.0.1", "--port", "0"]);
    const [line] = await once(server.stderr, "data", { signal: AbortSignal.timeout(60_000) });
    const { port } = JSON.parse(String(line).split("\n")[0] ?? "");
    expect((await fetch(`http://127.0.0.1:${port}/sync`, { method: "POST", body: "{}" })).status).toBe(400);
    server.kill();
    await once(server, "exit");
  }
});

test("so is the hook for conversion, which API servers ask over TLS", async () => {
  const program = alone("hooks/dist", "conversion.js");
  expect(lstatSync(program).size).toBeLessThan(MEGABYTE);
  await expect(project.run(process.execPath, [program, "--help"])).resolves.toMatch(/^Usage: .*conversion/);
});

test.for(["keeper", "binder", "router", "runtime"])("%s is a bundle that needs no package to start", async (name) => {
  const program = alone(`packages/${name}/dist`, "main.js");
  await expect(project.run(process.execPath, [program, "--help"])).resolves.toMatch(/^Usage: /);
});

test("the runtime's image has less than 30 MB of JavaScript, and nothing of what is not the runtime's", () => {
  const code = sizeOf(join(ROOT, "packages/runtime/dist"), "*.{js,mjs}") +
    sizeOf(join(ROOT, "node_modules/@lydell"), "**/*.{js,cjs,mjs}");
  expect(code).toBeGreaterThan(100_000);
  expect(code).toBeLessThan(30 * MEGABYTE);
  const main = readFileSync(join(ROOT, "packages/runtime/dist/main.js"), "utf8");
  expect(main).not.toMatch(/@kubernetes\/client-node|modelcontextprotocol|@xterm/);
});
