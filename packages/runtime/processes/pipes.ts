/** Makes real pipes for what a process writes; it must not be needed: without them spawn's own do. @module */
import { execFile } from "node:child_process";
import { closeSync, constants, mkdtempSync, openSync, readdirSync, rmSync, unlinkSync } from "node:fs";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { ON_DENO } from "../../process/ondeno.ts";

/** A pipe: our end, and the process's, which `close` gives up and must be called once the process has it. */
export interface Pipe {
  socket: Socket;
  fd: number;
  close(): void;
}

/** Which way a pipe leads, seen from the runtime. */
export type Direction = "read" | "write";

const PREFIX = "hookbox-pipes-";
/** How many are made at a time: one run of mkfifo(1) then serves that many. */
const BATCH = 64;
/** After so many failures in a row there is no mkfifo, or no folder for it. */
const MOST_FAILURES = 3;

const ready: string[] = [];
let folder: string | undefined;
let filling: Promise<void> | undefined;
let failures = 0;

/**
 * Opens a pipe for each direction, or none where they cannot be had.
 *
 * Node's own "pipe" is a socket, and a socket cannot be opened by name: `echo >/dev/stderr` and `curl -o /dev/stdout`
 * fail in a process that has one. Node has no pipe(2), but a FIFO that is unlinked once both ends are open is the same.
 */
export async function openPipes(directions: Direction[]): Promise<Pipe[]> {
  // Deno's are real ones.
  if (ON_DENO || failures >= MOST_FAILURES) return [];
  const pipes: Pipe[] = [];
  try {
    while (ready.length < directions.length) await fill();
    if (ready.length < BATCH / 2) fill().catch(() => failures++);
    for (const direction of directions) pipes.push(open(ready.pop() ?? "", direction));
    failures = 0;
    return pipes;
  } catch {
    for (const pipe of pipes) {
      pipe.close();
      pipe.socket.destroy();
    }
    // Somebody may have cleaned up the folder: the next ones get a new one.
    ready.length = 0;
    folder = undefined;
    failures++;
    return [];
  }
}

function open(path: string, direction: Direction): Pipe {
  const reads = direction === "read";
  // An end that blocks opens only when the other one is there; this one is both, for a moment.
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

function fill(): Promise<void> {
  return filling ??= (async () => {
    try {
      folder ??= makeFolder();
      const base = join(folder, String(process.hrtime.bigint()));
      const paths = Array.from({ length: BATCH }, (_, index) => `${base}-${index}`);
      await promisify(execFile)("mkfifo", ["-m", "600", ...paths]);
      ready.push(...paths);
    } finally {
      filling = undefined;
    }
  })();
}

function makeFolder(): string {
  sweep();
  const made = mkdtempSync(join(tmpdir(), `${PREFIX}${process.pid}-`));
  process.once("exit", () => rmSync(made, { recursive: true, force: true }));
  return made;
}

/** Removes what runtimes left that were killed. One that lives, but is not seen from here, makes a new folder. */
function sweep(): void {
  for (const name of readdirSync(tmpdir())) {
    const pid = Number(name.startsWith(PREFIX) ? name.slice(PREFIX.length).split("-")[0] : NaN);
    if (pid > 1 && !lives(pid)) rmSync(join(tmpdir(), name), { recursive: true, force: true });
  }
}

function lives(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // EPERM: it is there, and another user's.
    return !(error instanceof Error && "code" in error && error.code === "ESRCH");
  }
}
