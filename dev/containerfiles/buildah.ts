/**
 * Builds images with buildah, in its own image store. Builds the base image for Containerfiles without a registry:
 * Debian with this machine's Node and npm, from the Debian mirror that this machine uses. @module
 */
import { execFileSync } from "node:child_process";
import {
  copyFileSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import process from "node:process";
import { ensurePackages, supportsOverlayMounts } from "../cluster/machine.ts";

/** An image store and its operations. Each method throws if buildah fails. */
export interface Buildah {
  has(image: string): boolean;
  /** Creates an image from a folder. */
  commit(image: string, folder: string, entrypoint: readonly string[]): void;
  /** Builds an image from a Containerfile. @param args further arguments of `buildah build` */
  build(image: string, args: readonly string[]): void;
  /** Pushes an image. @param to a destination as in containers-transports(5) */
  push(image: string, to: string): void;
  /** Mounts an image, and calls `use` with the folder of its files. */
  mounted(image: string, use: (folder: string) => void): void;
}

/**
 * Opens the store in a folder. The folder is created if it does not exist.
 *
 * @param root folder of the build contexts
 * @param log file descriptor for buildah's output
 * @throws {Error} if buildah is not installed and cannot be installed
 */
export function openBuildah(folder: string, root: string, log: number): Buildah {
  ensurePackages({ buildah: "/usr/bin/buildah" });
  mkdirSync(folder, { recursive: true });
  const policyFile = join(folder, "policy.json");
  writeFileSync(policyFile, JSON.stringify({ default: [{ type: "insecureAcceptAnything" }] }));
  const policy = ["--signature-policy", policyFile];
  // Without overlays, each layer is a copy of all files.
  const driver = supportsOverlayMounts(folder) ? "overlay" : "vfs";
  const store = ["--root", join(folder, driver), "--runroot", join(folder, "run"), "--storage-driver", driver];
  const run = (...args: string[]) =>
    execFileSync("buildah", [...store, ...args], { cwd: root, stdio: ["ignore", "pipe", log], encoding: "utf8" });
  return {
    has: (image) => run("images", "--format", "{{.Name}}").split("\n").includes(image),
    commit(image, from, entrypoint) {
      const container = run("from", "scratch").trim();
      run("add", container, from, "/");
      run("config", "--entrypoint", JSON.stringify(entrypoint), "--cmd", "", container);
      run("commit", ...policy, "--rm", container, image);
    },
    build: (image, args) =>
      void run("build", "--isolation", "chroot", "--pull=never", "--layers", ...policy, "--tag", image, ...args, "."),
    push: (image, to) => void run("push", ...policy, "--tls-verify=false", image, to),
    mounted(image, use) {
      const container = run("from", ...policy, "--pull=never", image).trim();
      try {
        use(run("mount", container).trim());
      } finally {
        run("rm", container);
      }
    },
  };
}

/** Packages that must be installed. They include the mirror's keys, so that apt-get works in images. */
const PACKAGES = ["ca-certificates", "debian-archive-keyring"];
/** The configuration of this machine's apt-get. */
const SETTINGS = ["/etc/apt/sources.list", "/etc/apt/sources.list.d/debian.sources", "/etc/apt/apt.conf.d"];
/** Texts for people, which Debian's slim images lack, too. */
const UNUSED = ["usr/share/doc/*/*", "usr/share/{info,locale,man}/*"];
/** The certificates that this machine trusts, including those of its mirrors. */
export const CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt";

/**
 * Creates the file system of the base in a folder. The folder is emptied first.
 *
 * @param log file descriptor for the output of the programs
 * @throws {Error} if this machine is not Debian, or if debootstrap fails
 */
export function makeBase(folder: string, log: number): void {
  ensurePackages({ debootstrap: "/usr/sbin/debootstrap" });
  const { suite, mirror } = debianOf(readFileSync("/etc/os-release", "utf8"), aptSources());
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const args = ["--variant=minbase", `--include=${PACKAGES.join(",")}`, suite, folder, mirror];
  execFileSync("debootstrap", args, { stdio: ["ignore", log, log] });
  // Debootstrap writes its mirror to this file, but the machine's own sources contain it too.
  rmSync(join(folder, "etc/apt/sources.list"), { force: true });
  for (const path of SETTINGS) if (existsSync(path)) cpSync(path, join(folder, path), { recursive: true });
  if (existsSync(CERTIFICATES)) copyFileSync(CERTIFICATES, join(folder, CERTIFICATES));
  const left = [...UNUSED, "var/cache/apt/*", "var/lib/apt/lists/*"].flatMap((path) => globSync(join(folder, path)));
  for (const path of left) if (!path.endsWith("/copyright")) rmSync(path, { recursive: true, force: true });
  copyFileSync(process.execPath, join(folder, "usr/local/bin/node"));
  const ask = (...question: string[]) => execFileSync("npm", question, { encoding: "utf8" }).trim();
  const npmrc = ask("config", "get", "globalconfig");
  if (existsSync(npmrc)) cpSync(npmrc, join(folder, "usr/local/etc/npmrc"));
  cpSync(join(ask("root", "--global"), "npm"), join(folder, "usr/local/lib/node_modules/npm"), { recursive: true });
  symlinkSync("../lib/node_modules/npm/bin/npm-cli.js", join(folder, "usr/local/bin/npm"));
}

function aptSources(): string {
  const files = ["/etc/apt/sources.list", ...globSync("/etc/apt/sources.list.d/*")];
  return files.filter((file) => existsSync(file)).map((file) => readFileSync(file, "utf8")).join("\n");
}

/**
 * Reads this machine's Debian release and mirror.
 *
 * @param release text of /etc/os-release
 * @param sources text of apt's sources, in either format
 * @throws {Error} if the machine is not Debian, or has no such source
 */
export function debianOf(release: string, sources: string): { suite: string; mirror: string } {
  const [, suite] = /^VERSION_CODENAME=(\S+)/m.exec(release) ?? [];
  if (suite === undefined || !/^ID=debian$/m.test(release)) throw new Error("Cannot make a base: this is not Debian");
  const stanzas = sources.split(/\n\s*\n/).filter((stanza) => new RegExp(`^Suites:.*\\b${suite}\\b`, "m").test(stanza));
  const uris = stanzas.flatMap((stanza) => [...stanza.matchAll(/^URIs:\s*(\S+)/gm)].map(([, uri = ""]) => uri));
  const lines = [...sources.matchAll(/^deb\s+(?:\[[^\]]*\]\s+)?(\S+)\s+(\S+)/gm)].flatMap(([, uri = "", of]) =>
    of === suite ? [uri] : []
  );
  const mirror = [...lines, ...uris].map((uri) => uri.replace(/\/$/, "")).find((uri) => basename(uri) === "debian");
  if (mirror === undefined) throw new Error(`Cannot make a base: no source of apt has Debian's ${suite}`);
  return { suite, mirror };
}
