/** The context of a real process, in Node or Deno; it connects to a cluster only when a command needs it. @module */
import { basename } from "node:path";
import process from "node:process";
import type { Writable } from "node:stream";
import type { CommandContext, Output } from "./commandcontext.ts";
import { Interruption } from "./failure.ts";

/** The context of a process: also its arguments, and a function that waits until all output is written. */
interface NodeContext extends CommandContext {
  args: string[];
  flush(): Promise<void>;
}

/** Creates the context of this process. */
export function nodeContext(): NodeContext {
  const called = basename(process.argv[1] ?? "").replace(/\.[a-z]+$/, "");
  const interrupt = createInterrupt();
  const stdout = outputOf(() => process.stdout, onBroken(interrupt.fire));
  const stderr = outputOf(() => process.stderr, onBroken(interrupt.fire));
  return {
    args: [...called === "kubectl_complete-hookbox" ? ["complete", "--"] : [], ...process.argv.slice(2)],
    program: called === "kubectl-hookbox" ? "kubectl hookbox" : "hookbox",
    env: process.env,
    get stdin() {
      return process.stdin;
    },
    stdout,
    stderr,
    now: () => new Date(),
    get signal() {
      return interrupt.signal();
    },
    fetch: globalThis.fetch,
    connectCluster: async (where) => (await import("./cluster.ts")).connectCluster(where, process.env),
    connect: async (where) => (await import("./connect.ts")).connectSandboxes(where, process.env),
    browse: async (url) => await openBrowser(url, process.env),
    flush: async () => {
      for (const output of [stdout, stderr]) await output.flush();
    },
  };
}

type ProcessStream = Writable & { isTTY?: boolean; columns?: number; rows?: number };

/** Creates an output. Its stream is opened when it is first used, because most commands use one of the two. */
function outputOf(
  open: () => ProcessStream,
  onError: (error: NodeJS.ErrnoException) => void,
): Output & { flush(): Promise<void> } {
  let opened: ProcessStream | undefined;
  const stream = () => opened ??= open().on("error", onError);
  return {
    get stream() {
      return stream();
    },
    write: (data) => void stream().write(data),
    drained: () => drainOf(stream()),
    get isTTY() {
      return stream().isTTY === true;
    },
    get columns() {
      return stream().columns;
    },
    get rows() {
      return stream().rows;
    },
    flush: async () => {
      if (opened) await flushed(opened);
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

/** Opens a URL; returns false if there is no browser. */
async function openBrowser(url: string, env: Record<string, string | undefined>): Promise<boolean> {
  const command = commandOf(env);
  if (!command) return false;
  const [program = "", ...args] = [...command, url];
  const { spawn } = await import("node:child_process");
  return await new Promise((resolve) => {
    const child = spawn(program, args, { detached: true, stdio: "ignore" });
    child.once("error", () => resolve(false));
    child.once("spawn", () => {
      child.unref();
      resolve(true);
    });
  });
}

/** Over SSH, a browser would open on the remote machine, where the user does not see it. */
function commandOf(env: Record<string, string | undefined>): string[] | undefined {
  if (env["BROWSER"]) return [env["BROWSER"]];
  if (env["SSH_CONNECTION"]) return undefined;
  if (process.platform === "darwin") return ["open"];
  if (process.platform === "win32") return ["cmd", "/c", "start", ""];
  return env["DISPLAY"] || env["WAYLAND_DISPLAY"] ? ["xdg-open"] : undefined;
}
