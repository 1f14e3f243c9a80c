/** Checks whether this machine can run a real Kubernetes node, and installs missing Debian packages. @module */
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

// Paths of each program on common distributions.
// A runc that somebody has installed in addition to that of the distribution is newer.
const RUNC = ["/usr/local/sbin/runc", "/usr/local/bin/runc", "/usr/sbin/runc", "/usr/bin/runc"];
const CRUN = ["/usr/bin/crun", "/usr/sbin/crun", "/usr/local/bin/crun"];
const CNI_FOLDERS = ["/usr/lib/cni", "/opt/cni/bin", "/usr/libexec/cni"];
const CNI_PLUGINS = ["ptp", "host-local", "loopback"];
const IP = ["/usr/sbin/ip", "/sbin/ip", "/usr/bin/ip", "/bin/ip"];
const NFT = ["/usr/sbin/nft", "/sbin/nft", "/usr/bin/nft", "/usr/local/sbin/nft"];
const BUSYBOX = ["/bin/busybox", "/usr/bin/busybox", "/usr/local/bin/busybox"];

/** Type of an overlay file system, as `statfs` returns it (OVERLAYFS_SUPER_MAGIC). */
const OVERLAY_FILE_SYSTEM = 0x794c7630;

/**
 * Finds the tools for a real node. If some are missing, installs their Debian packages.
 *
 * @returns the tools, or `refusal`: why this machine cannot run a real node, and what to install. The text has no
 * capital letter and no full stop, so that it can follow a colon.
 */
export function findNodeTools(progress: (line: string) => void): NodeTools | { refusal: string } {
  const refusal = whyUnsupported();
  if (refusal) return { refusal };
  const missing = missingPackages();
  if (missing.length > 0) {
    const failed = installPackages(missing, progress);
    if (failed) return { refusal: `${failed}; install ${missing.join(", ")}` };
  }
  return {
    runc: firstExisting(RUNC) ?? "",
    crun: firstExisting(CRUN) ?? "",
    cniPlugins: findCniPlugins() ?? "",
    ip: firstExisting(IP) ?? "",
    nft: firstExisting(NFT) ?? "",
    busybox: findBusybox() ?? "",
  };
}

/** Returns whether overlay file systems can be mounted in a folder. They cannot if the folder is on one itself. */
export function supportsOverlayMounts(folder: string): boolean {
  return statfsSync(folder).type !== OVERLAY_FILE_SYSTEM;
}

/** Returns whether Pods can have user namespaces (`hostUsers: false`). That needs runc 1.2; Debian 12 has 1.1. */
export function supportsUserNamespaces(): boolean {
  const { stdout, status } = spawnSync(firstExisting(RUNC) ?? "runc", ["features"], { encoding: "utf8" });
  if (status !== 0) return false;
  const { linux } = JSON.parse(stdout) as { linux?: { mountExtensions?: { idmap?: { enabled?: boolean } } } };
  return linux?.mountExtensions?.idmap?.enabled === true;
}

/** Returns why this machine cannot run containers; undefined: it can. */
function whyUnsupported(): string | undefined {
  if (process.platform !== "linux") return `containers need Linux, and this is ${process.platform}`;
  if (process.getuid?.() !== 0) return "containers need root (sudo npm run up)";
  const allNamespaces = ["--net", "--mount", "--pid", "--fork", "--mount-proc", "true"];
  if (spawnSync("unshare", allNamespaces).status !== 0) {
    return "this machine does not allow new Linux namespaces (unshare fails)";
  }
  return undefined;
}

function missingPackages(): string[] {
  return [
    ...(firstExisting(RUNC) ? [] : ["runc"]),
    ...(firstExisting(CRUN) ? [] : ["crun"]),
    ...(findCniPlugins() ? [] : ["containernetworking-plugins"]),
    ...(firstExisting(IP) ? [] : ["iproute2"]),
    ...(firstExisting(NFT) ? [] : ["nftables"]),
    ...(findBusybox() ? [] : ["busybox-static"]),
  ];
}

/** Installs packages. Returns what failed; undefined: all packages are installed now. */
function installPackages(packages: string[], progress: (line: string) => void): string | undefined {
  if (!existsSync("/usr/bin/apt-get")) return "packages are missing, and this machine has no apt-get";
  progress(`installing Debian packages for the real node: ${packages.join(", ")} …`);
  const reason = aptInstall(packages);
  const stillMissing = missingPackages();
  if (stillMissing.length === 0) return undefined;
  return `apt-get did not install ${stillMissing.join(", ")}: ${reason ?? "apt-get reported success"}`;
}

function firstExisting(paths: readonly string[]): string | undefined {
  return paths.find((path) => existsSync(path));
}

function findCniPlugins(): string | undefined {
  return CNI_FOLDERS.find((folder) => CNI_PLUGINS.every((plugin) => existsSync(`${folder}/${plugin}`)));
}

function findBusybox(): string | undefined {
  return BUSYBOX.find((path) => existsSync(path) && isStatic(readFileSync(path)));
}

/** Type of the ELF program header that names the dynamic loader. */
const PT_INTERP = 3;

/** Returns whether a program is a 64-bit little-endian ELF file that is statically linked: it needs no loader. */
export function isStatic(program: Uint8Array): boolean {
  const view = new DataView(program.buffer, program.byteOffset, program.byteLength);
  if (program.byteLength < 64 || view.getUint32(0) !== 0x7f454c46) return false;
  const table = Number(view.getBigUint64(32, true));
  const [size, count] = [view.getUint16(54, true), view.getUint16(56, true)];
  const types = Array.from({ length: count }, (_, index) => view.getUint32(table + index * size, true));
  return !types.includes(PT_INTERP);
}

/**
 * Installs Debian packages. If this fails, updates the package lists and tries again. Returns the last line of
 * apt-get's error message; undefined: success.
 */
export function aptInstall(packages: readonly string[]): string | undefined {
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const apt = (...args: string[]) => spawnSync("apt-get", args, { encoding: "utf8", env });
  // Another process may be installing packages.
  const wait = ["-o", "DPkg::Lock::Timeout=600"];
  const install = () => apt("install", "-y", "-qq", "--no-install-recommends", ...wait, ...packages);
  if (install().status === 0) return undefined;
  apt("update", "-qq");
  const { status, stderr } = install();
  return status === 0 ? undefined : (stderr ?? "").trim().split("\n").at(-1) ?? "";
}

/**
 * Installs the Debian packages whose programs are missing.
 *
 * @param programs a path for each package; if no file exists there, the package is installed
 * @throws {Error} with apt-get's error message
 */
export function ensurePackages(programs: Readonly<Record<string, string>>): void {
  const missing = Object.entries(programs).flatMap(([name, path]) => existsSync(path) ? [] : [name]);
  const reason = missing.length > 0 ? aptInstall(missing) : undefined;
  if (reason !== undefined) throw new Error(`apt-get did not install ${missing.join(", ")}: ${reason}`);
}
