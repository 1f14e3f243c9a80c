/** The image of the runtime, made on the spot from what this machine has: Node, Python where there is one, a shell. @module */
import { execFileSync } from "node:child_process";
import { existsSync, globSync, readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { busyboxFiles } from "./busybox.ts";
import type { ImageFile, ImageSpec } from "./images.ts";

/** Name under which Pods find it. */
export const RUNTIME_IMAGE = "docker.io/library/hookbox-runtime:local";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
/** What of the project the runtime consists of. */
const SOURCES = ["runtime", "lib", "package.json"];
const PYTHON = "/usr/bin/python3";
const OWN_FOLDER = "/opt/hookbox";
/** Where its files are, unless `--root` says otherwise. */
const WORKSPACE = "/workspace";

/**
 * Describes the image: the same programs as in runtime/Containerfile. Python is left out where this machine has none.
 *
 * @param busybox path of a busybox that needs no libraries
 * @param tini path of the init that reaps orphans; undefined: the runtime is the first process itself
 */
export function runtimeImage(busybox: string, tini: string | undefined): ImageSpec {
  const programs = [process.execPath, ...(tini === undefined ? [] : [tini]), ...existing("/bin/bash")];
  const files: ImageFile[] = [
    ...busyboxFiles(busybox),
    ...programs.flatMap((program) => withLibraries(program)),
    { path: "/usr/local/bin/node", from: process.execPath, mode: 0o755 },
    ...(existsSync(PYTHON) ? pythonFiles() : []),
    ...SOURCES.map((source) => ({ path: `${OWN_FOLDER}/${source}`, from: join(ROOT, source) })),
    ...packagesOf(ROOT).map((name) => ({
      path: `${OWN_FOLDER}/node_modules/${name}`,
      from: join(ROOT, "node_modules", name),
    })),
    { path: WORKSPACE, folder: true, mode: 0o777 },
  ];
  const serve = ["/usr/local/bin/node", `${OWN_FOLDER}/runtime/main.ts`];
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

/** The program where it is, and the shared libraries that it needs. */
function withLibraries(program: string): ImageFile[] {
  const needed = execFileSync("ldd", [program], { encoding: "utf8" });
  return [program, ...librariesOf(needed)].map((path) => ({ path, from: path, mode: 0o755 }));
}

/** Reads the paths of libraries out of what `ldd` says, the loader's among them. */
export function librariesOf(ldd: string): string[] {
  return [...ldd.matchAll(/(?:=> |^\s*)(\/\S+) \(0x/gm)].map(([, path = ""]) => path);
}

function pythonFiles(): ImageFile[] {
  const ask = "import sysconfig; print(sysconfig.get_paths()['stdlib'])";
  const library = execFileSync(PYTHON, ["-c", ask], { encoding: "utf8" }).trim();
  const modules = globSync(join(library, "lib-dynload/*.so"));
  const libraries = [realpathSync(PYTHON), ...modules].flatMap((file) => withLibraries(file).slice(1));
  return [{ path: PYTHON, from: PYTHON, mode: 0o755 }, { path: library, from: library }, ...libraries];
}

/** Names the packages that the runtime imports, and those that they need, as they are installed in a checkout. */
export function packagesOf(root: string): string[] {
  const sources = globSync("{runtime,lib}/**/*.ts", { cwd: root }).map((file) =>
    readFileSync(join(root, file), "utf8")
  );
  const imported = sources.flatMap((text) =>
    [...text.matchAll(/(?:from |import\()"(@[^/"]+\/[^/"]+|[^@./"][^/":]*)(?:\/[^"]*)?"/g)].map(([, name = ""]) => name)
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
