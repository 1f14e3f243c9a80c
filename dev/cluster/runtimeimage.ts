/** The image of the runtime, made on the spot from what this machine has: Node, Python where there is one, a shell. @module */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, globSync, readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { aptInstall } from "./apt.ts";
import { busyboxFiles } from "./busybox.ts";
import type { ImageFile, ImageSpec } from "./images.ts";
import { importImages } from "./importimages.ts";
import { readRecord } from "./state.ts";

/** Name under which Pods find it. */
export const RUNTIME_IMAGE = "docker.io/library/hookbox-runtime:local";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
/** What of the project the runtime consists of. */
const SOURCES = ["packages/runtime", "packages/runtime-api", "packages/process", "package.json"];
const PYTHON = "/usr/bin/python3";
const TINI = "/usr/bin/tini";
const NODE = "/usr/local/bin/node";
const OWN_FOLDER = "/opt/hookbox";
/** Where its files are, unless `--root` says otherwise. */
const WORKSPACE = "/workspace";

/**
 * Brings the image into the real node of the cluster in a folder.
 *
 * @throws {Error} if the cluster has no real node, or the node refuses the image
 */
export async function importRuntimeImage(
  stateDir: string,
  options: { progress?: (line: string) => void; signal?: AbortSignal } = {},
): Promise<void> {
  const busybox = readRecord(stateDir)?.realNode?.busybox;
  if (busybox === undefined) {
    throw new Error(`Cannot import the runtime into ${stateDir}: its cluster has no real node`);
  }
  // A real node is root's, and root may install; without tini all works but orphans stay zombies.
  if (!existsSync(TINI)) aptInstall(["tini"]);
  await importImages(stateDir, [runtimeImage(busybox, existsSync(TINI) ? TINI : undefined)], options);
}

/**
 * Describes the image: the same programs as in deploy/runtime/Containerfile. Python is left out where this machine has none.
 *
 * @param busybox path of a busybox that needs no libraries
 * @param tini path of the init that reaps orphans; undefined: the runtime is the first process itself
 */
export function runtimeImage(busybox: string, tini: string | undefined): ImageSpec {
  const programs = [...(tini === undefined ? [] : [tini]), ...existing("/bin/bash")];
  const packages = packagesOf(ROOT).map((name) => ({ name, folder: join(ROOT, "node_modules", name) }));
  const natives = packages.flatMap(({ folder }) => globSync(join(folder, "**/*.node")));
  const files: ImageFile[] = [
    ...busyboxFiles(busybox),
    ...[process.execPath, ...programs, ...natives].flatMap(librariesFor),
    ...programs.map((path) => ({ path, from: path, mode: 0o755 })),
    { path: NODE, from: process.execPath, mode: 0o755 },
    ...(existsSync(PYTHON) ? pythonFiles() : []),
    ...SOURCES.map((source) => ({ path: `${OWN_FOLDER}/${source}`, from: join(ROOT, source) })),
    ...packages.map(({ name, folder }) => ({ path: `${OWN_FOLDER}/node_modules/${name}`, from: folder })),
    { path: WORKSPACE, folder: true, mode: 0o777 },
  ];
  const serve = [NODE, `${OWN_FOLDER}/packages/runtime/main.ts`];
  return {
    name: RUNTIME_IMAGE,
    files: [...new Map(files.map((file) => [file.path, file])).values()],
    entrypoint: tini === undefined ? serve : [tini, "--", ...serve],
    command: ["--root", WORKSPACE],
    env: { PATH: "/usr/local/bin:/usr/bin:/bin", HOME: WORKSPACE },
    workingDir: WORKSPACE,
  };
}

function existing(path: string): string[] {
  return existsSync(path) ? [path] : [];
}

/** The shared libraries that a program needs, where it looks for them. */
function librariesFor(program: string): ImageFile[] {
  // A program that is linked statically makes ldd fail.
  const { stdout } = spawnSync("ldd", [program], { encoding: "utf8" });
  return librariesOf(stdout).map((path) => ({ path, from: path, mode: 0o755 }));
}

/** Reads the paths of libraries out of what `ldd` says, the loader's among them. */
export function librariesOf(ldd: string): string[] {
  return [...ldd.matchAll(/(?:=> |^\s*)(\/\S+) \(0x/gm)].map(([, path = ""]) => path);
}

function pythonFiles(): ImageFile[] {
  const ask = "import sysconfig; print(sysconfig.get_paths()['stdlib'])";
  const library = execFileSync(PYTHON, ["-c", ask], { encoding: "utf8" }).trim();
  const modules = globSync(join(library, "lib-dynload/*.so"));
  const libraries = [realpathSync(PYTHON), ...modules].flatMap(librariesFor);
  return [{ path: PYTHON, from: PYTHON, mode: 0o755 }, { path: library, from: library }, ...libraries];
}

/** Names the packages that the runtime imports, and those that they need, as they are installed in a checkout. */
export function packagesOf(root: string): string[] {
  const sources = globSync("packages/{runtime,runtime-api,process}/**/*.{ts,mjs}", { cwd: root }).map((file) =>
    readFileSync(join(root, file), "utf8")
  );
  const imported = sources.flatMap((text) =>
    [...text.matchAll(/(?:from |import\(|resolve\()"(@[^/"]+\/[^/"]+|[^@./"][^/":]*)(?:\/[^"]*)?"/g)].map((
      [, name = ""],
    ) => name)
  );
  const found = new Set<string>();
  const add = (name: string) => {
    const manifest = join(root, "node_modules", name, "package.json");
    if (found.has(name) || !existsSync(manifest)) return;
    found.add(name);
    const { dependencies = {}, optionalDependencies = {}, peerDependencies = {} } = JSON.parse(
      readFileSync(manifest, "utf8"),
    ) as Record<string, Record<string, string>>;
    for (const needed of Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies })) add(needed);
  };
  for (const name of imported) add(name);
  return [...found].sort();
}
