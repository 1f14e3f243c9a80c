/**
 * Builds container images from files of this machine as OCI archives, without a registry, and imports them into a real
 * node. Lists the files of busybox, Node and other programs with their shared libraries. @module
 */
import { Buffer } from "node:buffer";
import { execFile, execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { pack } from "tar-stream";
import { isRunning, logTail } from "./processes.ts";
import { readRecord, type RealNodeRecord } from "./state.ts";
import { PAUSE_IMAGE } from "./nodeconfig.ts";

/** One file of an image. Set exactly one of `from`, `content`, `link` and `folder`. */
export interface ImageFile {
  /** Absolute path in the image. */
  path: string;
  /** File or folder of this machine, which is copied with its content. */
  from?: string;
  content?: string | Uint8Array;
  /** Target of a symbolic link. */
  link?: string;
  /** An empty folder. Parent folders of files are added automatically. */
  folder?: true;
  /** Permissions. The default is those of `from`; without `from`, 0o644 for files and 0o755 for folders. */
  mode?: number;
}

export interface ImageSpec {
  /** Full name, such as `docker.io/library/busybox:1.37`. Pods can omit `docker.io/library/`. */
  name: string;
  files: ImageFile[];
  entrypoint?: string[];
  command?: string[];
  env?: Record<string, string>;
  workingDir?: string;
  /** For example `1000:1000`; absent: root. */
  user?: string;
}

interface Entry {
  name: string;
  type: "file" | "directory" | "symlink";
  mode: number;
  content?: Uint8Array;
  linkname?: string;
}

type Container = NonNullable<RealNodeRecord["container"]>;

/** Builds the OCI archive (a tar) of one image. The same files and spec give the same bytes. */
export async function buildImageArchive(spec: ImageSpec, architecture: string): Promise<Buffer> {
  const layer = await buildTar(withParents(spec.files.flatMap(entriesOf)));
  const config = jsonBlob({
    architecture,
    os: "linux",
    config: {
      Entrypoint: spec.entrypoint,
      Cmd: spec.command,
      Env: Object.entries(spec.env ?? {}).map(([name, value]) => `${name}=${value}`),
      WorkingDir: spec.workingDir,
      User: spec.user,
    },
    rootfs: { type: "layers", diff_ids: [digest(layer)] },
  });
  const type = "application/vnd.oci.image";
  const manifest = jsonBlob({
    schemaVersion: 2,
    mediaType: `${type}.manifest.v1+json`,
    config: { mediaType: `${type}.config.v1+json`, digest: digest(config), size: config.length },
    layers: [{ mediaType: `${type}.layer.v1.tar`, digest: digest(layer), size: layer.length }],
  });
  const index = jsonBlob({
    schemaVersion: 2,
    manifests: [{
      mediaType: `${type}.manifest.v1+json`,
      digest: digest(manifest),
      size: manifest.length,
      platform: { architecture, os: "linux" },
      annotations: { "io.containerd.image.name": spec.name },
    }],
  });
  const blobs = [layer, config, manifest].map((blob) => ({ path: `blobs/${digest(blob).replace(":", "/")}`, blob }));
  const files = [
    { path: "oci-layout", blob: jsonBlob({ imageLayoutVersion: "1.0.0" }) },
    { path: "index.json", blob: index },
    ...blobs,
  ];
  return buildTar(files.map(({ path, blob }) => ({ name: path, type: "file", mode: 0o644, content: blob })));
}

function entriesOf(file: ImageFile): Entry[] {
  const name = file.path.replace(/^\/+/, "");
  if (file.link !== undefined) return [{ name, type: "symlink", mode: 0o777, linkname: file.link }];
  if (file.folder) return [{ name, type: "directory", mode: file.mode ?? 0o755 }];
  if (file.from !== undefined) return copyEntries(name, file.from, file.mode);
  return [{ name, type: "file", mode: file.mode ?? 0o644, content: Buffer.from(file.content ?? "") }];
}

function copyEntries(name: string, from: string, mode?: number): Entry[] {
  // If the path that the caller gives is a link, it is followed. Links inside a folder stay links.
  const stat = statSync(from);
  if (!stat.isDirectory()) {
    return [{ name, type: "file", mode: mode ?? stat.mode & 0o777, content: readFileSync(from) }];
  }
  const entries: Entry[] = [{ name, type: "directory", mode: mode ?? 0o755 }];
  for (const child of readdirSync(from).sort()) {
    const path = join(from, child);
    const link = lstatSync(path).isSymbolicLink();
    const inner = `${name}/${child}`;
    if (link) entries.push({ name: inner, type: "symlink", mode: 0o777, linkname: readlinkSync(path) });
    else entries.push(...copyEntries(inner, path));
  }
  return entries;
}

/** Adds the parent folders of each entry before it. */
function withParents(entries: Entry[]): Entry[] {
  const named = new Set(entries.map((entry) => entry.name));
  const result: Entry[] = [];
  for (const entry of entries) {
    const parts = entry.name.split("/").slice(0, -1);
    const parents = parts.map((_, index) => parts.slice(0, index + 1).join("/"));
    for (const name of parents.filter((parent) => !named.has(parent))) {
      named.add(name);
      result.push({ name, type: "directory", mode: 0o755 });
    }
    result.push(entry);
  }
  return result;
}

async function buildTar(entries: Entry[]): Promise<Buffer> {
  const tar = pack();
  for (const { content, ...header } of entries) {
    tar.entry({ ...header, mtime: new Date(0), uid: 0, gid: 0 }, Buffer.from(content ?? ""));
  }
  tar.finalize();
  const parts: Buffer[] = [];
  for await (const part of tar) parts.push(part as Buffer);
  return Buffer.concat(parts);
}

function jsonBlob(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}

function digest(blob: Uint8Array): string {
  return `sha256:${createHash("sha256").update(blob).digest("hex")}`;
}

/**
 * Imports images into the real node of the cluster in a folder. Pods with imagePullPolicy IfNotPresent can use them. An
 * image of the same name is replaced.
 *
 * @throws {Error} if the cluster has no real node, or the node refuses an image
 */
export async function importImages(
  stateDir: string,
  images: ImageSpec[],
  options: { progress?: (line: string) => void; signal?: AbortSignal | undefined } = {},
): Promise<void> {
  const container = containerOf(stateDir);
  const folder = mkdtempSync(join(tmpdir(), "hookbox-images-"));
  try {
    for (const image of images) {
      options.signal?.throwIfAborted();
      options.progress?.(`importing image ${image.name} …`);
      const archive = join(folder, "image.tar");
      writeFileSync(archive, await buildImageArchive(image, imageArchitecture()));
      await runCtr(container, ["images", "import", "--local", archive], `import image ${image.name}`);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Adds another name to an image of the real node.
 *
 * @throws {Error} if the cluster has no real node, or the node does not have the image
 */
export async function tagImage(stateDir: string, name: string, other: string): Promise<void> {
  await runCtr(containerOf(stateDir), ["images", "tag", "--force", name, other], `tag image ${name}`);
}

function containerOf(stateDir: string): Container {
  const { container } = readRecord(stateDir)?.realNode ?? {};
  if (!container) throw new Error(`Cannot use the images of ${stateDir}: its cluster has no real node`);
  return container;
}

/** Runs `ctr` in the real node. @param what what the command does, for the error */
async function runCtr({ first, ctr }: Container, args: string[], what: string): Promise<void> {
  // containerd's socket is only in the node's namespaces, and mounts by an import are removed together with them.
  const inside = ["--target", String(first.pid), "--mount", "--pid", "--"];
  try {
    await promisify(execFile)("nsenter", [...inside, ctr, "--namespace", "k8s.io", ...args]);
  } catch (error) {
    // The command can fail a moment before the node has completely ended.
    await sleep(500);
    if (!isRunning(first)) throw new Error(`Cannot start the real node: it has ended${logTail(first)}`);
    throw new Error(`Cannot ${what}: ${(error as { stderr?: string }).stderr ?? error}`);
  }
}

/** Returns this machine's processor architecture as it is named in images. */
function imageArchitecture(): string {
  return process.arch === "x64" ? "amd64" : process.arch;
}

/** Names under which Pods can use busybox. */
const BUSYBOX_IMAGES = ["docker.io/library/busybox:1.37", "docker.io/library/busybox:latest"];

/** Path of Node in images that are built from this machine's files. */
export const NODE = "/usr/local/bin/node";

/**
 * Lists the files of a small root file system: busybox with its applets, users, and the usual empty folders. Other
 * images can be based on it.
 *
 * @param busybox path of a busybox that needs no libraries
 */
export function busyboxFiles(busybox: string): ImageFile[] {
  const applets = execFileSync(busybox, ["--list"], { encoding: "utf8" }).split("\n");
  const links = applets.filter((applet) => applet !== "" && applet !== "busybox");
  return [
    { path: "/bin/busybox", from: busybox, mode: 0o755 },
    ...links.map((applet) => ({ path: `/bin/${applet}`, link: "busybox" })),
    { path: "/etc/passwd", content: "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n" },
    { path: "/etc/group", content: "root:x:0:\nnogroup:x:65534:\n" },
    { path: "/root", folder: true, mode: 0o700 },
    { path: "/tmp", folder: true, mode: 0o1777 },
    { path: "/var/tmp", folder: true, mode: 0o1777 },
  ];
}

/** The images to import before the first Pod starts. */
export function nodeImages(busybox: string): ImageSpec[] {
  const files = busyboxFiles(busybox);
  const pause: ImageSpec = {
    name: PAUSE_IMAGE,
    files: [{ path: "/bin/busybox", from: busybox, mode: 0o755 }],
    entrypoint: ["/bin/busybox", "sleep", "infinity"],
  };
  return [pause, ...BUSYBOX_IMAGES.map((name) => ({ name, files, command: ["sh"], env: { PATH: "/bin" } }))];
}

/** The files of the Node that runs this process, with its libraries. */
export function nodeFiles(): ImageFile[] {
  return [{ path: NODE, from: process.execPath, mode: 0o755 }, ...librariesFor(process.execPath)];
}

/** Lists the shared libraries that a program needs; none if it is statically linked. */
export function librariesFor(program: string): ImageFile[] {
  // ldd fails for a statically linked program.
  const { stdout } = spawnSync("ldd", [program], { encoding: "utf8" });
  return librariesOf(stdout).map((path) => ({ path, from: path, mode: 0o755 }));
}

/** Reads the paths of the libraries, including the loader, from the output of `ldd`. */
export function librariesOf(ldd: string): string[] {
  return [...ldd.matchAll(/(?:=> |^\s*)(\/\S+) \(0x/gm)].map(([, path = ""]) => path);
}
