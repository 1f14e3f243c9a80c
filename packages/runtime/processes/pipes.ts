/** Creates FIFOs as pipes for processes. If that fails, Node's own pipes are used. @module */
import { execFile } from "node:child_process";
import {
  accessSync,
  closeSync,
  constants,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
  unlinkSync,
} from "node:fs";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { ON_DENO } from "../../process/runprocess.ts";
import { codeOf } from "../confine.ts";
import { DEFAULT_PATH } from "./command.ts";

/**
 * A pipe: our end as a socket, and the descriptor for the process. Call `close` when the process has the descriptor.
 */
export interface Pipe {
  socket: Socket;
  fd: number;
  close(): void;
}

/** Direction of a pipe, seen from the runtime. */
export type Direction = "read" | "write";

const PREFIX = "hookbox-pipes-";
/** Number of FIFOs that one run of mkfifo(1) creates. */
const BATCH = 64;

/** A folder with FIFOs that are not in use yet. */
interface Folder {
  path: string;
  ready: string[];
  filling: Promise<void> | undefined;
}

let current: Folder | undefined;
let hasMkfifo = true;

/**
 * Opens a pipe for each direction, or none if that is not possible.
 *
 * Node's own "pipe" is a socket, which cannot be opened by name: `echo >/dev/stderr` and `curl -o /dev/stdout` fail in
 * a process that has one. Node does not offer pipe(2), but a FIFO that is unlinked after both ends are open works the
 * same way.
 */
export async function openPipes(directions: Direction[]): Promise<Pipe[]> {
  // Deno uses real pipes.
  if (ON_DENO || !hasMkfifo) return [];
  // The folder may have been deleted. Then the second attempt creates a new one.
  return await tryOpen(directions) ?? await tryOpen(directions) ?? [];
}

async function tryOpen(directions: Direction[]): Promise<Pipe[] | undefined> {
  const pipes: Pipe[] = [];
  let folder: Folder | undefined;
  try {
    folder = current ??= { path: makeFolder(), ready: [], filling: undefined };
    while (folder.ready.length < directions.length) await fill(folder);
    if (folder.ready.length < BATCH / 2) fill(folder).catch(() => undefined);
    for (const direction of directions) pipes.push(open(folder.ready.pop() ?? "", direction));
    return pipes;
  } catch {
    for (const pipe of pipes) {
      pipe.close();
      pipe.socket.destroy();
    }
    if (current === folder) current = undefined;
    return undefined;
  }
}

function open(path: string, direction: Direction): Pipe {
  const reads = direction === "read";
  // A blocking end can be opened only while the other end is open. This descriptor is both ends for a moment.
  const both = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  try {
    const ours = openSync(path, constants.O_NONBLOCK | (reads ? constants.O_RDONLY : constants.O_WRONLY));
    const fd = openSync(path, reads ? constants.O_WRONLY : constants.O_RDONLY);
    unlinkSync(path);
    const socket = new Socket({ fd: ours, readable: reads, writable: !reads });
    return { socket, fd, close: () => closeSync(fd) };
  } finally {
    closeSync(both);
  }
}

function fill(folder: Folder): Promise<void> {
  return folder.filling ??= makeFifos(folder).finally(() => folder.filling = undefined);
}

async function makeFifos({ path, ready }: Folder): Promise<void> {
  const base = join(path, String(process.hrtime.bigint()));
  const paths = Array.from({ length: BATCH }, (_, index) => `${base}-${index}`);
  // The runtime may be root, and the image's PATH may begin with a folder of another user.
  const PATH = `${DEFAULT_PATH}:${process.env["PATH"] ?? ""}`;
  try {
    await promisify(execFile)("mkfifo", ["-m", "600", ...paths], { env: { ...process.env, PATH } });
  } catch (error) {
    // Any other cause, such as a full disk, may pass.
    if (codeOf(error) === "ENOENT") hasMkfifo = false;
    throw error;
  }
  ready.push(...paths);
}

function makeFolder(): string {
  // In a /tmp in which everybody can rename folders, another user could replace root's.
  const parent = process.getuid?.() === 0 ? safeFolder() ?? tmpdir() : tmpdir();
  sweep(parent);
  const made = mkdtempSync(join(parent, `${PREFIX}${process.pid}-`));
  process.once("exit", () => rmSync(made, { recursive: true, force: true }));
  return made;
}

/** Returns a folder in which only root can replace what root creates; undefined: this process can write in none. */
export function safeFolder(folders = ["/run", tmpdir()]): string | undefined {
  return folders.find((folder) => {
    const found = statSync(folder, { throwIfNoEntry: false });
    const [isSticky, othersWrite] = [(found?.mode ?? 0) & 0o1000, (found?.mode ?? 0) & 0o022];
    if (found?.uid !== 0 || (othersWrite && !isSticky)) return false;
    try {
      // The file system may be read-only.
      accessSync(folder, constants.W_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/**
 * Deletes the folders of runtimes that were killed. A folder whose runtime is alive but not visible here may be
 * deleted, too; that runtime then creates a new one.
 */
function sweep(parent: string): void {
  for (const name of readdirSync(parent)) {
    const pid = Number(name.startsWith(PREFIX) ? name.slice(PREFIX.length).split("-")[0] : NaN);
    if (pid > 1 && !lives(pid)) removeIfOwn(join(parent, name));
  }
}

/** The folder may belong to the runtime of another user. */
function removeIfOwn(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch (error) {
    if (!["EACCES", "EPERM"].includes(codeOf(error) ?? "")) throw error;
  }
}

function lives(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // EPERM means that the process exists and belongs to another user.
    return !(error instanceof Error && "code" in error && error.code === "ESRCH");
  }
}
