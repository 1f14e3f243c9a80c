/** Opens terminals by the native part of node-pty; it must not start a process. @module */
import { closeSync, openSync } from "node:fs";
import process from "node:process";
import { ReadStream } from "node:tty";
import type { IOType } from "node:child_process";
import { ON_DENO } from "../../process/ondeno.ts";
import { SpawnError } from "./command.ts";

/** Both ends of a terminal: the descriptors, and the path by which a process opens its end. */
export interface OpenedPTY {
  master: number;
  slave: number;
  pty: string;
}

/** As version 1.1.0 of @lydell/node-pty has it, whose pin in package.json is this file's contract. */
interface NativePTY {
  open(cols: number, rows: number): OpenedPTY;
  resize(fd: number, cols: number, rows: number): void;
}

/** A terminal. */
export interface PTY extends OpenedPTY {
  resize(cols: number, rows: number): void;
  /** Gives up the process's end; only once the process has ended, or the terminal hangs up on it. */
  closeSlave(): void;
  /** Says that the master has been closed. */
  masterClosed(): void;
}

/** The native module opens descriptors that every process started later would inherit. */
const inheritable = new Set<number>();

/**
 * Opens a terminal of so many characters.
 *
 * The library above the native part, `spawn` of node-pty, is not used: it closes the master as soon as the program has
 * closed its descriptors. One that does so before it exits, as cat does, then dies of SIGHUP one time in four, its
 * exit code lost; a reader that is 0.2 s behind at the end loses output; and other processes inherit the master.
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

/** closeSync() of Deno knows only what Deno has opened; a ReadStream of Node closes a copy. */
function closeDescriptor(fd: number): void {
  if (!ON_DENO) return closeSync(fd);
  try {
    new ReadStream(fd).destroy();
  } catch {
    // Without leave to do so it stays open: there are no terminals then, and this was the only one.
  }
}

let nothing: number | undefined;

/**
 * Lays /dev/null over the descriptors that are not meant for a new process: Node cannot close them in it.
 *
 * Deno has no descriptors above 2 for its children; there they are inherited.
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

/** Loaded when the first terminal is asked for: where there is no such module, everything else still works. */
async function load(): Promise<NativePTY> {
  const name = `@lydell/node-pty-${process.platform}-${process.arch}/pty.node`;
  try {
    // A native module cannot be imported, only required; and its package is a dependency of node-pty's.
    const { createRequire } = await import("node:module");
    const nodePTY = createRequire(createRequire(import.meta.url).resolve("@lydell/node-pty"));
    return nodePTY(name) as NativePTY;
  } catch (error) {
    const why = error instanceof Error ? error.message.split("\n")[0] : String(error);
    throw new SpawnError("failed", `Cannot open a terminal: ${why}`);
  }
}
