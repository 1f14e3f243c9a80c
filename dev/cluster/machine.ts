/** Finds out whether this machine can run a real node, and installs Debian packages. @module */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, statfsSync } from "node:fs";
import process from "node:process";

/** Programs of the machine that a real node uses. */
export interface NodeTools {
  runc: string;
  /** A second OCI runtime, which a RuntimeClass can name. */
  crun: string;
  /** Folder with the CNI plugins ptp, host-local and loopback. */
  cniPlugins: string;
  /** The command of iproute2. */
  ip: string;
  /** The command of nftables. kube-proxy runs it by its name. */
  nft: string;
  /** A busybox that needs no libraries. */
  busybox: string;
}

const RUNC = ["/usr/sbin/runc", "/usr/bin/runc", "/usr/local/sbin/runc", "/usr/local/bin/runc"];
const CRUN = ["/usr/bin/crun", "/usr/sbin/crun", "/usr/local/bin/crun"];
const CNI_FOLDERS = ["/usr/lib/cni", "/opt/cni/bin", "/usr/libexec/cni"];
const CNI_PLUGINS = ["ptp", "host-local", "loopback"];
const IP = ["/usr/sbin/ip", "/sbin/ip", "/usr/bin/ip", "/bin/ip"];
const NFT = ["/usr/sbin/nft", "/sbin/nft", "/usr/bin/nft", "/usr/local/sbin/nft"];
const BUSYBOX = ["/bin/busybox", "/usr/bin/busybox", "/usr/local/bin/busybox"];

const OVERLAY_FILE_SYSTEM = 0x794c7630;

/**
 * Finds the tools for a real node, and installs missing Debian packages if possible.
 *
 * @returns the tools, or the reason why there can be no real node and what would help, as a clause that follows a colon
 */
export function findNodeTools(progress: (line: string) => void): NodeTools | { refusal: string } {
  const refusal = refuseMachine();
  if (refusal) return { refusal };
  const missing = missingPackages();
  if (missing.length > 0) {
    const failed = installPackages(missing, progress);
    if (failed) return { refusal: `${failed}; install ${missing.join(", ")}` };
  }
  return {
    runc: find(RUNC) ?? "",
    crun: find(CRUN) ?? "",
    cniPlugins: findCniPlugins() ?? "",
    ip: find(IP) ?? "",
    nft: find(NFT) ?? "",
    busybox: findBusybox() ?? "",
  };
}

/** Tells whether a folder can contain overlay mounts. It cannot if it is itself on an overlay file system. */
export function takesOverlays(folder: string): boolean {
  return statfsSync(folder).type !== OVERLAY_FILE_SYSTEM;
}

function refuseMachine(): string | undefined {
  if (process.platform !== "linux") return `containers need Linux, and this is ${process.platform}`;
  if (process.getuid?.() !== 0) return "containers need root (sudo npm run up)";
  const trial = ["--net", "--mount", "--pid", "--fork", "--mount-proc", "true"];
  if (spawnSync("unshare", trial).status !== 0) return "this machine allows no new namespaces (unshare fails)";
  return undefined;
}

function missingPackages(): string[] {
  return [
    ...(find(RUNC) ? [] : ["runc"]),
    ...(find(CRUN) ? [] : ["crun"]),
    ...(findCniPlugins() ? [] : ["containernetworking-plugins"]),
    ...(find(IP) ? [] : ["iproute2"]),
    ...(find(NFT) ? [] : ["nftables"]),
    ...(findBusybox() ? [] : ["busybox-static"]),
  ];
}

/** Returns what failed; undefined: all packages are installed now. */
function installPackages(packages: string[], progress: (line: string) => void): string | undefined {
  if (!existsSync("/usr/bin/apt-get")) return "there is no apt-get here to install what is missing";
  progress(`installing Debian packages for the real node: ${packages.join(", ")} …`);
  const reason = aptInstall(packages);
  const still = missingPackages();
  if (still.length === 0) return undefined;
  return `apt-get did not install ${still.join(", ")}: ${reason ?? "it reported success"}`;
}

function find(paths: readonly string[]): string | undefined {
  return paths.find((path) => existsSync(path));
}

function findCniPlugins(): string | undefined {
  return CNI_FOLDERS.find((folder) => CNI_PLUGINS.every((plugin) => existsSync(`${folder}/${plugin}`)));
}

function findBusybox(): string | undefined {
  return BUSYBOX.find((path) => existsSync(path) && isStatic(readFileSync(path)));
}

/** Tells whether a 64-bit little-endian ELF program needs no loader (it has no PT_INTERP program header). */
export function isStatic(program: Uint8Array): boolean {
  const view = new DataView(program.buffer, program.byteOffset, program.byteLength);
  if (program.byteLength < 64 || view.getUint32(0) !== 0x7f454c46) return false;
  const table = Number(view.getBigUint64(32, true));
  const [size, count] = [view.getUint16(54, true), view.getUint16(56, true)];
  const types = Array.from({ length: count }, (_, index) => view.getUint32(table + index * size, true));
  return !types.includes(3);
}

/**
 * Installs packages. If this fails, updates the package lists and tries again. Returns apt-get's error message;
 * undefined: success.
 */
export function aptInstall(packages: readonly string[]): string | undefined {
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const apt = (...args: string[]) => spawnSync("apt-get", args, { encoding: "utf8", env });
  const install = () => apt("install", "-y", "-qq", "--no-install-recommends", ...packages);
  if (install().status === 0) return undefined;
  apt("update", "-qq");
  const { status, stderr } = install();
  return status === 0 ? undefined : (stderr ?? "").trim().split("\n").at(-1) ?? "";
}

/**
 * Installs each package whose program does not exist yet.
 *
 * @param programs path of a program of each package, by the name of the package
 * @throws {Error} with apt-get's error message
 */
export function needPackages(programs: Readonly<Record<string, string>>): void {
  const missing = Object.entries(programs).flatMap(([name, path]) => existsSync(path) ? [] : [name]);
  const reason = missing.length > 0 ? aptInstall(missing) : undefined;
  if (reason !== undefined) throw new Error(`apt-get did not install ${missing.join(", ")}: ${reason}`);
}
