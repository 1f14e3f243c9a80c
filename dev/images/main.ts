/** `npm run image`: builds an image of this repository by its Containerfile, without docker and without a registry. @module */
import { execFileSync } from "node:child_process";
import { closeSync, existsSync, mkdirSync, openSync, rmSync, statfsSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { aptInstall } from "../cluster/apt.ts";
import { makeBase } from "./base.ts";
import { writeSbom } from "./sbom.ts";

const HELP = `Builds an image of this repository by buildah, from its Containerfile, as an OCI archive.

Usage: npm run image -- hookbox|runtime|agent [options]

  --out FILE   archive that is written (default: .hookbox/images/<name>.tar)
  --tag NAME   name in the archive (default: docker.io/library/<name>:local)
  --push REG   pushes it to a registry at this host and port, without TLS: <REG>/<image>:local
  --sbom       writes what is in it beside the archive, as CycloneDX: <name>.cdx.json
  --help       this text

The bases that the Containerfiles name are made here, from Debian's packages and this machine's Node: it takes Debian
and root. Elsewhere docker build does the same (docs/images.md).
`;

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const FOLDER = join(ROOT, ".hookbox/images");
const BASE = "localhost/debian-node";
const OVERLAY_FILE_SYSTEM = 0x794c7630;
const PACKAGES = ["buildah", "debootstrap"];

const RUNTIME = { file: "deploy/runtime/Containerfile", workspaces: ["packages/runtime"] };

/** What can be built: its Containerfile, its stage there, the name of its image, and whose packages are in it. */
const IMAGES: Record<string, { file: string; target?: string; image: string; workspaces: string[] }> = {
  hookbox: {
    ...{ file: "deploy/Containerfile", image: "hookbox" },
    workspaces: ["hooks", "packages/keeper", "packages/binder", "packages/router"],
  },
  runtime: { ...RUNTIME, target: "runtime", image: "hookbox-runtime" },
  agent: { ...RUNTIME, target: "agent", image: "hookbox-agent" },
};

const say = (line: string) => void process.stdout.write(`${line}\n`);

function main(): number {
  const { values, positionals: [name, ...more] } = parseArgs({
    options: {
      out: { type: "string" },
      tag: { type: "string" },
      push: { type: "string" },
      sbom: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
    allowPositionals: true,
  });
  if (values.help) return process.stdout.write(HELP), 0;
  const what = name === undefined ? undefined : IMAGES[name];
  if (!what || more.length > 0) throw new RangeError(`Cannot build: name one of ${Object.keys(IMAGES).join(", ")}`);
  if (process.getuid?.() !== 0) throw new Error("Cannot build: debootstrap needs root");
  mkdirSync(FOLDER, { recursive: true });
  const log = join(FOLDER, "build.log");
  const out = resolve(values.out ?? join(FOLDER, `${name}.tar`));
  const descriptor = openSync(log, "w");
  const tag = values.tag ?? `docker.io/library/${what.image}:local`;
  try {
    build(what, out, tag, descriptor);
    if (values.push !== undefined) push(tag, `${values.push}/${what.image}:local`, descriptor);
    if (values.sbom) describe(what, out.replace(/(\.tar)?$/, ".cdx.json"), tag, descriptor);
  } catch (error) {
    throw new Error(`Cannot build ${name}, see ${log}: ${(error as Error).message.split("\n")[0]}`);
  } finally {
    closeSync(descriptor);
  }
  say(`${out}, ${Math.round(statSync(out).size / 1e6)} MB`);
  return 0;
}

function build({ file, target }: typeof IMAGES[string], out: string, tag: string, log: number): void {
  const missing = PACKAGES.filter((name) => !existsSync(`/usr/bin/${name}`) && !existsSync(`/usr/sbin/${name}`));
  const failed = missing.length > 0 ? aptInstall(missing) : undefined;
  if (failed !== undefined) throw new Error(`apt-get did not install ${missing.join(", ")}: ${failed}`);
  const policy = join(FOLDER, "policy.json");
  writeFileSync(policy, JSON.stringify({ default: [{ type: "insecureAcceptAnything" }] }));
  const buildah = buildahOf(log);
  if (!hasImage(buildah, BASE)) {
    say("making the base: Debian and Node …");
    const folder = join(FOLDER, "base");
    makeBase(folder, log);
    const container = buildah("from", "scratch").trim();
    buildah("add", container, folder, "/");
    buildah("config", "--entrypoint", '["/usr/local/bin/node"]', "--cmd", "", container);
    buildah("commit", "--signature-policy", policy, "--rm", container, BASE);
    rmSync(folder, { recursive: true, force: true });
  }
  say(`building ${tag} …`);
  const args = ["--isolation", "chroot", "--signature-policy", policy, "--pull=never", "--layers"];
  const bases = ["--build-arg", `BUILD=${BASE}`, "--build-arg", `BASE=${BASE}`];
  const mounts = existsSync("/root/.npmrc") ? ["--volume", "/root/.npmrc:/root/.npmrc:ro"] : [];
  const stage = target === undefined ? [] : ["--target", target];
  buildah("build", ...args, ...bases, ...mounts, ...stage, "--file", file, "--tag", tag, ".");
  rmSync(out, { force: true });
  buildah("push", "--signature-policy", policy, tag, `oci-archive:${out}:${tag}`);
}

function push(tag: string, name: string, log: number): void {
  say(`pushing ${name} …`);
  const policy = ["--signature-policy", join(FOLDER, "policy.json")];
  buildahOf(log)("push", ...policy, "--tls-verify=false", tag, `docker://${name}`);
}

function describe({ workspaces }: typeof IMAGES[string], out: string, image: string, log: number): void {
  say("looking at what is in it …");
  const buildah = buildahOf(log);
  const container = buildah("from", "--signature-policy", join(FOLDER, "policy.json"), "--pull=never", image).trim();
  try {
    const mounted = buildah("mount", container).trim();
    writeSbom(out, { root: ROOT, mounted, image, workspaces, work: join(FOLDER, "sbom") }, log);
  } finally {
    buildah("rm", container);
  }
  say(out);
}

function buildahOf(log: number): (...args: string[]) => string {
  // Overlays do not lie on overlays; a copy of all files for each layer takes its time.
  const driver = statfsSync(FOLDER).type === OVERLAY_FILE_SYSTEM ? "vfs" : "overlay";
  const storage = ["--root", join(FOLDER, driver), "--runroot", join(FOLDER, "run"), "--storage-driver", driver];
  return (...args) =>
    execFileSync("buildah", [...storage, ...args], { cwd: ROOT, stdio: ["ignore", "pipe", log], encoding: "utf8" });
}

function hasImage(buildah: (...args: string[]) => string, name: string): boolean {
  return buildah("images", "--format", "{{.Name}}").split("\n").includes(name);
}

try {
  process.exitCode = main();
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 1;
}
