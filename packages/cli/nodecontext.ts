/** The context of a real process, in Node or Deno; it connects to a cluster only when a command needs it. @module */
import { basename } from "node:path";
import process from "node:process";
import type { Writable } from "node:stream";
import { Interruption } from "./failure.ts";
import type { CommandContext, Output } from "./commandcontext.ts";

/** The context of a process: also its arguments, and a function that waits until all output is written. */
export interface NodeContext extends CommandContext {
  args: string[];
  flush(): Promise<void>;
}

/** Creates the context of this process. */
export function nodeContext(): NodeContext {
  const called = basename(process.argv[1] ?? "").replace(/\.[a-z]+$/, "");
  const interrupt = createInterrupt();
  for (const stream of [process.stdout, process.stderr]) stream.on("error", onBroken(interrupt.fire));
  return {
    args: [...called === "kubectl_complete-hookbox" ? ["complete", "--"] : [], ...process.argv.slice(2)],
    program: called === "kubectl-hookbox" ? "kubectl hookbox" : "hookbox",
    env: process.env,
    get stdin() {
      return process.stdin;
    },
    stdout: outputOf(process.stdout),
    stderr: outputOf(process.stderr),
    now: () => new Date(),
    get signal() {
      return interrupt.signal();
    },
    fetch: globalThis.fetch,
    reach: async (where) => (await import("./cluster/reach.ts")).reachCluster(where, process.env),
    connect: async (where) => (await import("./cluster/connect.ts")).connectSandboxes(where, process.env),
    browse: async (url) => await (await import("./terminal/browser.ts")).openBrowser(url, process.env),
    flush: async () => {
      for (const stream of [process.stdout, process.stderr]) await flushed(stream);
    },
  };
}

function outputOf(stream: Writable & { isTTY?: boolean; columns?: number; rows?: number }): Output {
  return {
    stream,
    write: (data) => void stream.write(data),
    drained: () => drainOf(stream),
    isTTY: stream.isTTY === true,
    get columns() {
      return stream.columns;
    },
    get rows() {
      return stream.rows;
    },
  };
}

async function drainOf(stream: Writable): Promise<void> {
  if (!stream.writableNeedDrain || stream.destroyed) return;
  await new Promise<void>((resolve) => {
    const end = () => {
      for (const event of ["drain", "close", "error"]) stream.off(event, end);
      resolve();
    };
    for (const event of ["drain", "close", "error"]) stream.once(event, end);
  });
}

/**
 * Ends the command as SIGPIPE would if the reader of its output has ended (`… | head`). The command still deletes what
 * it has created.
 */
function onBroken(fire: (code: number) => void): (error: NodeJS.ErrnoException) => void {
  return (error) => {
    if (error.code !== "EPIPE") throw error;
    fire(141);
  };
}

/** Listens for signals as soon as the context's signal is used. The second signal ends the process. */
function createInterrupt() {
  const controller = new AbortController();
  let isListening = false;
  const fire = (code: number) => {
    if (controller.signal.aborted) process.exit(code);
    controller.abort(new Interruption(code));
  };
  return {
    fire,
    signal: () => {
      if (!isListening) process.on("SIGINT", () => fire(130)).on("SIGTERM", () => fire(143));
      isListening = true;
      return controller.signal;
    },
  };
}

async function flushed(stream: Writable): Promise<void> {
  if (stream.destroyed || stream.writableEnded) return;
  await new Promise<void>((resolve) => stream.write("", () => resolve()));
}
