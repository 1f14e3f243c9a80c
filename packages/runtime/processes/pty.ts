/** Opens pseudo-terminals with the native part of node-pty. @module */
import { closeSync, openSync } from "node:fs";
import process from "node:process";
import { ReadStream } from "node:tty";
import type { IOType } from "node:child_process";
import { ON_DENO } from "../../process/runprocess.ts";
import { SpawnError } from "./command.ts";

/** Both ends of a terminal: their descriptors, and the path by which a process opens its end. */
interface OpenedPTY {
  master: number;
  slave: number;
  pty: string;
}

/**
 * The interface of @lydell/node-pty 1.1.0. Its version is pinned in package.json because this file depends on its
 * internals.
 */
interface NativePTY {
  open(cols: number, rows: number): OpenedPTY;
  resize(fd: number, cols: number, rows: number): void;
}

/** An open terminal. */
export interface PTY extends OpenedPTY {
  resize(cols: number, rows: number): void;
  /** Closes the process's end. Must be called only after the process has ended; otherwise the process gets a hangup. */
  closeSlave(): void;
  /** To be called when the master has been closed. */
  masterClosed(): void;
}

/** Descriptors opened by the native module. All processes that are started later would inherit them. */
const inheritable = new Set<number>();

/**
 * Opens a terminal of this size, in characters.
 *
 * It does not use `spawn` of node-pty, which closes the master as soon as the program has closed its descriptors. If a
 * program does that before it exits, as cat does, it is killed by SIGHUP one time in four, and its exit code is lost. A
 * reader that is 0.2 s late also loses output at the end. And other processes inherit the master.
 *
 * @throws {SpawnError}
 */
export async function openPTY(cols: number, rows: number): Promise<PTY> {
  const native = await load();
  const opened = native.open(cols, rows);
  inheritable.add(opened.master).add(opened.slave);
  return {
    ...opened,
    resize: (toCols, toRows) => {
      if (inheritable.has(opened.master)) native.resize(opened.master, toCols, toRows);
    },
    closeSlave: () => {
      inheritable.delete(opened.slave);
      closeDescriptor(opened.slave);
    },
    masterClosed: () => inheritable.delete(opened.master),
  };
}

/** Deno's closeSync() accepts only descriptors that Deno has opened. A ReadStream of Node closes a copy. */
function closeDescriptor(fd: number): void {
  if (!ON_DENO) return closeSync(fd);
  try {
    new ReadStream(fd).destroy();
  } catch {
    // Without permission, the descriptor stays open. Then no terminal can be opened, so this is the only one.
  }
}

let nothing: number | undefined;

/**
 * Replaces descriptors that a new process must not inherit by /dev/null, because Node cannot close them in the new
 * process.
 *
 * In Deno, child processes cannot have descriptors above 2, so they inherit these.
 */
export function hideInheritable(stdio: (IOType | number)[]): (IOType | number)[] {
  if (inheritable.size === 0 || ON_DENO) return stdio;
  nothing ??= openSync("/dev/null", "r+");
  const hidden = [...stdio];
  for (let fd = stdio.length; fd <= Math.max(...inheritable); fd++) {
    hidden.push(inheritable.has(fd) ? nothing : "ignore");
  }
  return hidden;
}

/** Loads the native module at the first terminal. If it does not exist, everything else still works. */
async function load(): Promise<NativePTY> {
  const name = `@lydell/node-pty-${process.platform}-${process.arch}/pty.node`;
  try {
    // A native module must be loaded by `require`, and its package is a dependency of node-pty.
    const { createRequire } = await import("node:module");
    const nodePTY = createRequire(createRequire(import.meta.url).resolve("@lydell/node-pty"));
    return nodePTY(name) as NativePTY;
  } catch (error) {
    const why = error instanceof Error ? error.message.split("\n")[0] : String(error);
    throw new SpawnError("failed", `Cannot open a terminal: ${why}`);
  }
}
