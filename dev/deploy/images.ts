/** The images of an installation on a local cluster, made on the spot: hookbox' own, and the engine's. @module */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "rolldown";
import { build as buildPage } from "vite";
import { PROCESSES } from "../../rolldown.config.ts";
import type { ImageFile, ImageSpec } from "../cluster/images.ts";
import { librariesFor, NODE, nodeFiles } from "../cluster/programfiles.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const FOLDER = "/opt/hookbox";
const USER = "65532:65532";
/** Deno's own binary, not the script that finds it. */
const DENO = join(ROOT, "node_modules/deno/deno");

/** The engine's. Metacontroller's own manifests name another, which only its registry has. */
export const ENGINE_IMAGE = "docker.io/library/metacontroller:local";

/**
 * Hooks, keeper, binder and router, as deploy/Containerfile has them.
 *
 * @param folder an empty one, for the bundles
 * @param tag by default the one that deploy/ names
 * @param checkout where the source is; its packages are found from there
 */
export async function hookboxImage(folder: string, tag = version(), checkout = ROOT): Promise<ImageSpec> {
  for (const { name, bundle } of PROCESSES) {
    await build({ ...bundle, cwd: checkout, output: { ...bundle.output, dir: join(folder, name) } });
  }
  const page = join(folder, "router/dashboard");
  await buildPage({ root: join(checkout, "packages/dashboard"), build: { outDir: page } });
  const files = globSync("**", { cwd: folder, withFileTypes: true }).filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  return {
    // As Pods find it.
    name: `docker.io/library/hookbox:${tag}`,
    files: [
      { path: `${FOLDER}/deno`, from: DENO, mode: 0o755 },
      // Both need the same libraries.
      ...new Map([...nodeFiles(), ...librariesFor(DENO)].map((file) => [file.path, file])).values(),
      { path: `${FOLDER}/package.json`, content: '{ "type": "module" }' },
      ...files.map((from): ImageFile => ({ path: FOLDER + from.slice(folder.length), from })),
      { path: `${FOLDER}/node_modules/@xterm`, from: join(ROOT, "node_modules/@xterm") },
    ],
    entrypoint: [NODE],
    env: { DENO_DIR: "/tmp/deno" },
    workingDir: FOLDER,
    user: USER,
  };
}

/**
 * Metacontroller, as its own image has it; without a binary the stand-in under the same name.
 *
 * @param folder an empty one, for the stand-in's bundle
 * @param binary path of a Metacontroller for Linux; empty: the stand-in
 */
export async function engineImage(folder: string, binary: string): Promise<ImageSpec> {
  const common = { name: ENGINE_IMAGE, user: USER };
  const path = "/usr/bin/metacontroller";
  if (binary !== "") {
    return { ...common, files: [{ path, from: binary, mode: 0o755 }, ...librariesFor(binary)], entrypoint: [path] };
  }
  await build({
    cwd: ROOT,
    input: { main: "dev/metacontroller/main.ts" },
    platform: "node",
    tsconfig: false,
    output: { dir: folder, codeSplitting: false },
  });
  const start = `#!${NODE}\nimport(${JSON.stringify(`${FOLDER}/main.js`)});\n`;
  return {
    ...common,
    files: [
      ...nodeFiles(),
      { path: `${FOLDER}/package.json`, content: '{ "type": "module" }' },
      { path: `${FOLDER}/main.js`, from: join(folder, "main.js") },
      { path, content: start, mode: 0o755 },
    ],
    entrypoint: [path],
  };
}

function version(): string {
  return JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")).version;
}
