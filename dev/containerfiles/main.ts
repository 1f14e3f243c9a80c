/** `npm run image`: builds an image from its Containerfile, without docker and without a registry. @module */
import { execFileSync } from "node:child_process";
import { closeSync, existsSync, mkdirSync, openSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { type Buildah, CERTIFICATES, makeBase, openBuildah } from "./buildah.ts";
import { writeSbom } from "./sbom.ts";

const HELP = `Builds an image from its Containerfile by buildah, as an OCI archive.

Usage: npm run image -- hookbox|runtime|agent|browser|jupyter [options]

  --out FILE   path of the archive (default: .hookbox/images/<name>.tar)
  --tag NAME   name in the archive (default: docker.io/library/<name>:local)
  --push REG   push it to a registry at this host and port, without TLS: <REG>/<image>:local
  --sbom       write its bill of materials next to the archive, as CycloneDX: <name>.cdx.json
  --help       this text

The base images of the Containerfiles are built from Debian's packages and this machine's Node. This requires Debian and
root. Elsewhere, docker build does the same (docs/runtime.md).
`;

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const FOLDER = join(ROOT, ".hookbox/images");
const BASE = "localhost/debian-node";

/** Where pip finds the certificates that this machine trusts, while an image is built. */
const MOUNTED_CERTIFICATES = "/run/certificates.crt";

const RUNTIME = { file: "deploy/runtime/Containerfile", workspaces: ["packages/runtime"] };

interface Image {
  /** Its Containerfile. */
  file: string;
  /** Stage of the Containerfile to build; absent: the last one. */
  target?: string;
  /** Name of the image. */
  image: string;
  /** Workspaces whose packages are in the image. */
  workspaces: string[];
}

/** The images that can be built. */
const IMAGES: Record<string, Image> = {
  hookbox: {
    file: "deploy/Containerfile",
    image: "hookbox",
    workspaces: ["hooks", "packages/keeper", "packages/binder", "packages/router", "packages/egress", "packages/e2b"],
  },
  runtime: { ...RUNTIME, target: "runtime", image: "hookbox-runtime" },
  agent: { ...RUNTIME, target: "agent", image: "hookbox-agent" },
  browser: { ...RUNTIME, target: "browser", image: "hookbox-browser" },
  jupyter: { ...RUNTIME, target: "jupyter", image: "hookbox-jupyter" },
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
  if (process.getuid?.() !== 0) throw new Error("Cannot build: that takes root");
  mkdirSync(FOLDER, { recursive: true });
  const log = join(FOLDER, "build.log");
  const out = resolve(values.out ?? join(FOLDER, `${name}.tar`));
  const descriptor = openSync(log, "w");
  const tag = values.tag ?? `docker.io/library/${what.image}:local`;
  try {
    const buildah = openBuildah(FOLDER, ROOT, descriptor);
    provideBase(buildah, descriptor);
    say(`building ${tag} …`);
    buildah.build(tag, argsOf(what));
    rmSync(out, { force: true });
    buildah.push(tag, `oci-archive:${out}:${tag}`);
    if (values.push !== undefined) {
      const pushed = `${values.push}/${what.image}:local`;
      say(`pushing ${pushed} …`);
      buildah.push(tag, `docker://${pushed}`);
    }
    if (values.sbom) describe(buildah, what, out.replace(/(\.tar)?$/, ".cdx.json"), tag, descriptor);
  } catch (error) {
    throw new Error(`Cannot build ${name}, see ${log}: ${(error as Error).message.split("\n")[0]}`);
  } finally {
    closeSync(descriptor);
  }
  say(`${out}, ${Math.round(statSync(out).size / 1e6)} MB`);
  return 0;
}

function provideBase(buildah: Buildah, log: number): void {
  if (buildah.has(BASE)) return;
  say("making the base: Debian and Node …");
  const folder = join(FOLDER, "base");
  makeBase(folder, log);
  buildah.commit(BASE, folder, ["/usr/local/bin/node"]);
  rmSync(folder, { recursive: true, force: true });
}

function argsOf({ file, target }: Image): string[] {
  const bases = ["--build-arg", `BUILD=${BASE}`, "--build-arg", `BASE=${BASE}`];
  // The file belongs to root on both sides. It is mounted because it may contain a password of the registry, which must
  // not get into a layer.
  const npmrc = execFileSync("npm", ["config", "get", "userconfig"], { encoding: "utf8" }).trim();
  const mounts = existsSync(npmrc) ? ["--volume", `${npmrc}:${npmrc}:ro`] : [];
  // The image's own certificates are made anew when packages are installed, without those of this machine.
  if (existsSync(CERTIFICATES)) {
    const pipConf = join(FOLDER, "pip.conf");
    writeFileSync(pipConf, `[global]\ncert = ${MOUNTED_CERTIFICATES}\n`);
    mounts.push("--volume", `${pipConf}:/etc/pip.conf:ro`, "--volume", `${CERTIFICATES}:${MOUNTED_CERTIFICATES}:ro`);
  }
  return [...bases, ...mounts, ...target === undefined ? [] : ["--target", target], "--file", file];
}

function describe(buildah: Buildah, { workspaces }: Image, out: string, image: string, log: number): void {
  say("looking at what is in it …");
  buildah.mounted(image, (mounted) => {
    writeSbom(out, { root: ROOT, mounted, image, workspaces, work: join(FOLDER, "sbom") }, log);
  });
  say(out);
}

try {
  process.exitCode = main();
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 1;
}
