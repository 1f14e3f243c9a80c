/**
 * A base for Containerfiles where no registry has one: Debian with this machine's Node and npm, made from the packages
 * that it installs from itself.
 * @module
 */
import { execFileSync } from "node:child_process";
import { copyFileSync, cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { basename, join } from "node:path";
import process from "node:process";
import { needPackages } from "../cluster/apt.ts";

/** What has to be there: the mirror's keys too, so that apt-get works in images. */
const PACKAGES = ["ca-certificates", "debian-archive-keyring"];
/** How this machine's apt-get reaches what it installs from. */
const SETTINGS = ["/etc/apt/sources.list", "/etc/apt/sources.list.d/debian.sources", "/etc/apt/apt.conf.d"];
/** The certificates that this machine trusts, its mirrors' among them. */
const CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt";

/**
 * Makes the file system of the base in a folder, which is emptied before.
 *
 * @param log file descriptor that takes what the programs say
 * @throws {Error} if this machine is not Debian, or if debootstrap fails
 */
export function makeBase(folder: string, log: number): void {
  needPackages({ debootstrap: "/usr/sbin/debootstrap" });
  const { suite, mirror } = debianOf(readFileSync("/etc/os-release", "utf8"), aptSources());
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const args = ["--variant=minbase", `--include=${PACKAGES.join(",")}`, suite, folder, mirror];
  execFileSync("debootstrap", args, { stdio: ["ignore", log, log] });
  // Debootstrap names its mirror there; the machine's own sources say it, too.
  rmSync(join(folder, "etc/apt/sources.list"), { force: true });
  for (const path of SETTINGS) if (existsSync(path)) cpSync(path, join(folder, path), { recursive: true });
  if (existsSync(CERTIFICATES)) copyFileSync(CERTIFICATES, join(folder, CERTIFICATES));
  for (const path of globSync(join(folder, "var/{cache/apt,lib/apt/lists}/*"))) rmSync(path, { recursive: true });
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
 * Reads which Debian this machine is, and from where.
 *
 * @param release text of /etc/os-release
 * @param sources text of apt's sources, in either form
 * @throws {Error} if it is not Debian, or has no such source
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
