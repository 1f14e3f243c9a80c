/**
 * Builds the images for an installation on a local cluster from files of this machine: hookbox's and Metacontroller's.
 * @module
 */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "rolldown";
import { build as buildPage } from "vite";
import { PROCESSES } from "../../rolldown.config.ts";
import { type ImageFile, type ImageSpec, librariesFor, NODE, nodeFiles } from "../cluster/images.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const FOLDER = "/opt/hookbox";
const USER = "65532:65532";
/** Deno's own binary, not the script in node_modules/.bin. */
const DENO = join(ROOT, "node_modules/deno/deno");

/** Metacontroller's image. Its own manifests name another one, which only its registry has. */
export const METACONTROLLER_IMAGE = "docker.io/library/metacontroller:local";

/**
 * Returns the image of hooks, keeper, binder, router and egress policy, like deploy/Containerfile.
 *
 * @param folder an empty folder for the bundles
 * @param tag by default, the one in deploy/
 * @param checkout folder of the source, from where its packages are found
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
    // The name under which Pods find the image.
    name: `docker.io/library/hookbox:${tag}`,
    files: [
      { path: `${FOLDER}/deno`, from: DENO, mode: 0o755 },
      // Node and Deno need the same libraries.
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
 * Returns Metacontroller's image. Without a binary, it contains the fake Metacontroller under the same name.
 *
 * @param folder an empty folder for the fake's bundle
 * @param binary path of a Metacontroller for Linux; empty: the fake Metacontroller
 */
export async function metacontrollerImage(folder: string, binary: string): Promise<ImageSpec> {
  const common = { name: METACONTROLLER_IMAGE, user: USER };
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
