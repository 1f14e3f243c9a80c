/** The SDK in bundles: each is made of the packed package, and runs where no package can be found. @module */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import process from "node:process";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { build as buildByVite } from "vite";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { npmPackages } from "../npmpackages.ts";
import { send } from "../runtime/servers.ts";
import { makeTempFolder } from "../tempfolder.ts";
import { AGENT, PRINTED, WORKER } from "./packageagent.ts";
import { packedProject } from "./packed.ts";
import { serveSandboxes } from "./servedsandboxes.ts";

/** Makes a bundle of `agent.mjs` in `folder`, at `out` and next to it. @returns its warnings */
type Bundle = (folder: string, out: string) => Promise<string[]>;

/** Folder of the packages in tools.json. */
let tools: string;
/** Loads a package of those. */
let load: NodeJS.Require;
/** The project that has the SDK alone. */
let project: string;

beforeAll(async () => {
  tools = await npmPackages(fileURLToPath(new URL("tools.json", import.meta.url)));
  load = createRequire(join(tools, "package.json"));
  project = (await packedProject("sdkConsumer")).folder;
});

function byEsbuild(options: object): Bundle {
  return async (folder, out) => {
    const common = { bundle: true, platform: "node", logLevel: "silent" };
    const entry = { in: join(folder, "agent.mjs"), out: "agent" };
    const outExtension = { ".js": out.slice(-4) };
    const { warnings } = await load("esbuild").build({
      ...common,
      ...{ entryPoints: [entry], outdir: join(out, ".."), outExtension },
      ...options,
    });
    return warnings.map(({ text }: { text: string }) => text);
  };
}

const namesOf = (out: string) => ({
  entryFileNames: `agent${out.slice(-4)}`,
  chunkFileNames: `[hash]${out.slice(-4)}`,
});

function byRollup(format: "es" | "cjs"): Bundle {
  return async (folder, out) => {
    const warnings: string[] = [];
    const bundle = await load("rollup").rollup({
      input: join(folder, "agent.mjs"),
      onwarn: ({ code, message }: { code: string; message: string }) => warnings.push(`${code} ${message}`),
      plugins: [
        load("@rollup/plugin-node-resolve").nodeResolve({ preferBuiltins: true }),
        load("@rollup/plugin-commonjs")(),
      ],
    });
    await bundle.write({ dir: join(out, ".."), format, ...namesOf(out) });
    return warnings.filter((text) => text.includes("/node_modules/hookbox/"));
  };
}

function byVite(format: "es" | "cjs"): Bundle {
  return async (root, out) => {
    const rolldownOptions = { output: { format, ...namesOf(out) } };
    const build = { ssr: "agent.mjs", outDir: join(out, ".."), emptyOutDir: false, rolldownOptions };
    await buildByVite({ root, configFile: false, logLevel: "silent", ssr: { noExternal: true }, build });
    return [];
  };
}

const byWebpack: Bundle = async (folder, out) => {
  const webpack = load("webpack");
  const output = { path: join(out, ".."), filename: "agent.cjs", chunkFilename: "[id].cjs" };
  const stats = await promisify(webpack)({
    // It does not take the names of Node's modules that are bare in packages of CommonJS for its own.
    ...{ mode: "production", target: "node22", context: folder, entry: "./agent.mjs", output },
    optimization: { minimize: false },
  });
  const { errors, warnings } = stats.toJson({ all: false, errors: true, warnings: true });
  expect(errors).toEqual([]);
  return warnings.map(({ message }: { message: string }) => message);
};

const CLIENT_NODE = expect.stringContaining("@kubernetes/client-node");

test.for<{ bundler: string; file: string; bundle: Bundle; warnings?: unknown[] }>([
  { bundler: "esbuild, ESM", file: "agent.mjs", bundle: byEsbuild({ format: "esm" }) },
  {
    bundler: "esbuild, ESM in parts with short names",
    file: "agent.mjs",
    bundle: byEsbuild({ format: "esm", splitting: true, minify: true }),
  },
  { bundler: "esbuild, CommonJS", file: "agent.cjs", bundle: byEsbuild({ format: "cjs" }) },
  { bundler: "rollup, ESM", file: "agent.mjs", bundle: byRollup("es"), warnings: [CLIENT_NODE] },
  { bundler: "rollup, CommonJS", file: "agent.cjs", bundle: byRollup("cjs"), warnings: [CLIENT_NODE] },
  { bundler: "vite, ESM", file: "agent.mjs", bundle: byVite("es") },
  { bundler: "vite, CommonJS", file: "agent.cjs", bundle: byVite("cjs") },
  { bundler: "webpack", file: "agent.cjs", bundle: byWebpack, warnings: [CLIENT_NODE] },
])("a bundle by $bundler works without a package", async ({ file, bundle, warnings = [] }) => {
  const source = mkdtempSync(join(project, "bundle-"));
  writeFileSync(join(source, "agent.mjs"), AGENT);
  const out = makeTempFolder();
  expect(await bundle(source, join(out, file))).toEqual(warnings);
  const { kubeconfig, routerUrl } = await serveSandboxes();
  const args = [join(out, file), kubeconfig, routerUrl, makeTempFolder()];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { cwd: out });
  expect([JSON.parse(stdout), stderr]).toEqual([PRINTED, ""]);
});

test("a bundle by wrangler works in a Cloudflare Worker", async () => {
  const source = mkdtempSync(join(project, "worker-"));
  mkdirSync(join(source, "src"));
  writeFileSync(join(source, "src/worker.mjs"), WORKER);
  const compatibilityDate = "2026-11-01";
  const config = { name: "worker", main: "src/worker.mjs", compatibility_date: compatibilityDate };
  writeFileSync(join(source, "wrangler.json"), JSON.stringify(config));
  const env = { ...process.env, WRANGLER_SEND_METRICS: "false", XDG_CONFIG_HOME: makeTempFolder() };
  const wrangler = join(tools, "node_modules/wrangler/bin/wrangler.js");
  const args = [wrangler, "deploy", "--dry-run", "--outdir", "dist"];
  await promisify(execFile)(process.execPath, args, { cwd: source, env });

  const { routerUrl } = await serveSandboxes();
  const out = makeTempFolder();
  cpSync(join(source, "dist/worker.js"), join(out, "worker.js"));
  writeFileSync(
    join(out, "config.capnp"),
    `using Workerd = import "/workerd/workerd.capnp";
    const config :Workerd.Config = (
      services = [
        (name = "main", worker = .worker),
        (name = "internet", network = (allow = ["private", "local"])),
      ],
      sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
    );
    const worker :Workerd.Worker = (
      modules = [(name = "worker.js", esModule = embed "worker.js")],
      compatibilityDate = "${compatibilityDate}",
      bindings = [(name = "ROUTER_URL", text = "${routerUrl}")],
    );`,
  );
  const workerd = join(tools, "node_modules/@cloudflare", `workerd-linux-${process.arch === "x64" ? "64" : "arm64"}`);
  const child = spawn(join(workerd, "bin/workerd"), ["serve", "--control-fd=1", "config.capnp"], { cwd: out });
  onTestFinished(() => void child.kill());
  const failed = text(child.stderr).then((why) => Promise.reject(new Error(why)));
  const [line] = await Promise.race([once(child.stdout, "data"), failed]) as [unknown];
  failed.catch(() => {});
  const { port } = JSON.parse(String(line).split("\n")[0] ?? "") as { port: number };
  expect((await send(port, "GET", "/")).text).toBe('["hello\\n","text",true,true]');
});
