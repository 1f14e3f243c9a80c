/** Builds the image of the runtime from files of this machine: Node, Python if it is installed, and a shell. @module */
import { execFileSync } from "node:child_process";
import { existsSync, globSync, readdirSync, realpathSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { build } from "rolldown";
import { RUNTIME } from "../../rolldown.config.ts";
import { aptInstall } from "./machine.ts";
import { busyboxFiles, type ImageFile, type ImageSpec, importImages, librariesFor, NODE, nodeFiles } from "./images.ts";
import { readRecord } from "./state.ts";

/** The name of the image for Pods. */
export const RUNTIME_IMAGE = "docker.io/library/hookbox-runtime:local";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const MACHINE = `${process.platform}-${process.arch}`;
/** The packages that cannot be bundled: they have native code, which opens terminals, and reads attributes of files. */
const NATIVE = ["@lydell/node-pty", `@lydell/node-pty-${MACHINE}`, "koffi", `@koromix/koffi-${MACHINE}`];
const PYTHON = "/usr/bin/python3";
const TINI = "/usr/bin/tini";
const GIT = "/usr/bin/git";
const OWN_FOLDER = "/opt/hookbox";
/** The working directory, and the home directory. */
const WORKSPACE = "/workspace";

/**
 * Builds the image and imports it into the real node of the cluster in a folder.
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
  // A real node runs as root, so installing is possible. Without tini, everything works except that orphaned processes
  // stay as zombies.
  if (!existsSync(TINI)) aptInstall(["tini"]);
  if (!existsSync(GIT)) aptInstall(["git"]);
  const dist = await bundleRuntime(join(stateDir, "runtime"));
  await importImages(stateDir, [runtimeImage({ dist, busybox, tini: existsSync(TINI) ? TINI : undefined })], options);
}

/** Bundles the runtime and its kernels into a folder, like `npm run build`. @returns the folder */
export async function bundleRuntime(dir: string): Promise<string> {
  for (const bundle of RUNTIME) await build({ ...bundle, output: { ...bundle.output, dir } });
  return dir;
}

interface Parts {
  /** Folder with the bundle. */
  dist: string;
  /** Path of a busybox that needs no libraries. */
  busybox: string;
  /** Path of the init process that reaps orphans; undefined: the runtime itself is the first process. */
  tini: string | undefined;
}

/**
 * Describes the image. It has the same programs as deploy/runtime/Containerfile, but no Python and no git if this machine
 * has none.
 */
export function runtimeImage({ dist, busybox, tini }: Parts): ImageSpec {
  const programs = [...(tini === undefined ? [] : [tini]), ...existing("/bin/bash"), ...existing(GIT)];
  const packages = NATIVE.map((name) => ({ name, folder: join(ROOT, "node_modules", name) }))
    .filter(({ folder }) => existsSync(folder));
  const natives = packages.flatMap(({ folder }) => globSync(join(folder, "**/*.node")));
  const files: ImageFile[] = [
    ...busyboxFiles(busybox),
    ...[...programs, ...natives].flatMap(librariesFor),
    ...programs.map((path) => ({ path, from: path, mode: 0o755 })),
    ...existing(GIT).flatMap(gitLinks),
    ...nodeFiles(),
    ...(existsSync(PYTHON) ? pythonFiles() : []),
    { path: `${OWN_FOLDER}/package.json`, content: '{ "type": "module" }' },
    ...readdirSync(dist).map((file) => ({ path: `${OWN_FOLDER}/${file}`, from: join(dist, file) })),
    ...packages.map(({ name, folder }) => ({ path: `${OWN_FOLDER}/node_modules/${name}`, from: folder })),
    { path: WORKSPACE, folder: true, mode: 0o777 },
  ];
  const serve = [NODE, `${OWN_FOLDER}/main.js`];
  return {
    name: RUNTIME_IMAGE,
    files: [...new Map(files.map((file) => [file.path, file])).values()],
    entrypoint: tini === undefined ? serve : [tini, "--", ...serve],
    env: { PATH: "/usr/local/bin:/usr/bin:/bin", HOME: WORKSPACE },
    workingDir: WORKSPACE,
  };
}

function existing(path: string): string[] {
  return existsSync(path) ? [path] : [];
}

/** The names by which git calls itself for a repository in another folder. It fetches nothing over HTTP. */
function gitLinks(path: string): ImageFile[] {
  return ["upload-pack", "receive-pack"].map((name) => ({ path: `${path}-${name}`, link: "git" }));
}

function pythonFiles(): ImageFile[] {
  const ask = "import sysconfig; print(sysconfig.get_paths()['stdlib'])";
  const library = execFileSync(PYTHON, ["-c", ask], { encoding: "utf8" }).trim();
  const modules = globSync(join(library, "lib-dynload/*.so"));
  const libraries = [realpathSync(PYTHON), ...modules].flatMap(librariesFor);
  return [{ path: PYTHON, from: PYTHON, mode: 0o755 }, { path: library, from: library }, ...libraries];
}
