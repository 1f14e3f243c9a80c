/**
 * Writes the bill of materials of an image as CycloneDX: Debian's packages (from debsbom), npm packages (from npm), Node,
 * and what the Containerfile installs by npm and pip. @module
 */
import { execFileSync } from "node:child_process";
import { existsSync, globSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";

/** Siemens' tool. It also names source packages, which Debian's security notices refer to. */
const DEBSBOM = "debsbom[cdx]==0.10.2";

/** The image to describe, and the folders to use. */
interface SbomOf {
  /** The checkout. */
  root: string;
  /** Folder where the image's file system is mounted. */
  mounted: string;
  /** Name of the image. */
  image: string;
  /** Workspaces whose packages are in the image. */
  workspaces: readonly string[];
  /** Folder for temporary files. */
  work: string;
}

/**
 * Writes the bill of materials.
 *
 * @param log file descriptor for the output of the programs
 * @throws {Error} if python3 with venv and pip is not installed, or if a tool fails
 */
export function writeSbom(out: string, { root, mounted, image, workspaces, work }: SbomOf, log: number): void {
  mkdirSync(work, { recursive: true });
  const stdio = ["ignore", log, log] as const;
  const run = (command: string, ...args: string[]) => execFileSync(command, args, { cwd: root, stdio: [...stdio] });
  const tools = join(work, "debsbom");
  if (!existsSync(join(tools, "bin/debsbom"))) {
    run("python3", "-m", "venv", tools);
    run(join(tools, "bin/pip"), "install", "--quiet", DEBSBOM);
  }
  const debsbom = join(tools, "bin/debsbom");
  const part = (name: string) => join(work, `${name}.cdx.json`);
  run(debsbom, "generate", "-t", "cdx", "--root", mounted, "-o", part("debian"));
  const npm = ["sbom", "--omit", "dev", "--sbom-format", "cyclonedx", ...workspaces.flatMap((each) => ["-w", each])];
  writeFileSync(part("npm"), execFileSync("npm", npm, { cwd: root, stdio: ["ignore", "pipe", log] }));
  const node = { type: "application", name: "node", version: process.versions.node };
  const purl = `pkg:generic/node@${node.version}`;
  const unpackaged = { type: "application", "bom-ref": "not-packaged", name: "What no package manager knows" };
  const components = [{ "bom-ref": purl, ...node, purl }, ...installedPackages(mounted)];
  const document = {
    bomFormat: "CycloneDX",
    specVersion: "1.5",
    version: 1,
    metadata: { component: unpackaged },
    components,
  };
  writeFileSync(part("node"), JSON.stringify(document));
  const parts = ["debian", "npm", "node"].map(part);
  run(debsbom, "merge", "-t", "cdx", "--distro-name", image, "-o", part("merged"), ...parts);
  const { components: all } = JSON.parse(readFileSync(part("merged"), "utf8"));
  if (!Array.isArray(all) || all.length === 0) throw new Error("the bill of materials is empty");
  renameSync(part("merged"), out);
}

/** Describes the packages that the Containerfile itself installed by npm and pip: those of /usr/local. */
function installedPackages(mounted: string) {
  const local = join(mounted, "usr/local/lib");
  const npm = globSync("node_modules/{*,@*/*}/package.json", { cwd: local }).map((path) => {
    const { name, version } = JSON.parse(readFileSync(join(local, path), "utf8"));
    return { name, version, purl: `pkg:npm/${name.replace("@", "%40")}@${version}` };
  });
  const pip = globSync("python3*/dist-packages/*.dist-info", { cwd: local }).map((path) => {
    const [, name = "", version = ""] = /([^/]+)-([^/-]+)\.dist-info$/.exec(path) ?? [];
    return { name, version, purl: `pkg:pypi/${name}@${version}` };
  });
  return [...npm, ...pip].map((one) => ({ type: "library", "bom-ref": one.purl, ...one }));
}
