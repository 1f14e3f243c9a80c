/** `sandbox.pty`: programs on a terminal of their own. @module */
import { collect } from "../commands/collect.ts";
import { requestOf } from "../commands/commands.ts";
import { controlOf } from "../commands/control.ts";
import { eventsOf } from "../commands/events.ts";
import type { CommandOptions } from "../commands/types.ts";
import { errorOfConnect } from "../inside/connecterrors.ts";
import type { Inside } from "../inside/inside.ts";

/** Size of a terminal, in characters; each from 1 to 65535. */
export interface TerminalSize {
  cols: number;
  rows: number;
}

/** How to open a terminal. */
export interface PTYOptions extends CommandOptions, TerminalSize {
  /** What runs on it; a string is a shell's. @default a shell: bash where there is one, else sh */
  command?: string | string[];
  /** Told of what it shows, bytes as they come; while a promise of it is pending the program is held up. */
  onData?: (bytes: Uint8Array) => void | Promise<void>;
}

/** A terminal. */
export interface Terminal {
  processId: number;
  /** Types, once. */
  write(data: string | Uint8Array): Promise<void>;
  resize(size: TerminalSize): Promise<void>;
  /** Ends the program and all it has started; false if it has ended. */
  kill(): Promise<boolean>;
  /** Resolves when the program has ended; -1 where a signal ended it. */
  wait(): Promise<{ exitCode: number }>;
}

/** Terminals of one sandbox. */
export interface PTY {
  /** Opens a terminal and starts a program on it. Its output goes on through broken connections. */
  create(options: PTYOptions): Promise<Terminal>;
}

const SHELL = ["/bin/sh", "-c", "if command -v bash >/dev/null; then exec bash -l; else exec sh -l; fi"];

/** Makes them. */
export function createPTY(inside: Inside): PTY {
  return {
    async create({ cols, rows, command = SHELL, onData = () => {}, signal, ...options }) {
      const action = "open a terminal";
      const start = { ...requestOf(command, options), pty: { cols, rows }, stdin: true, lossless: true };
      const events = eventsOf(inside, { start }, action, signal);
      const first = await events.next().catch((error) => {
        signal?.throwIfAborted();
        throw errorOfConnect(error, action, inside.object);
      });
      const processId = first.value?.type === "started" ? first.value.processId : 0;
      const { write, resize, kill } = controlOf(inside, processId);
      const ended = collect(told(events, onData), { action, object: inside.object, maxOutputLength: 0 });
      // Who gives up, or stops listening, leaves nothing running; who does not wait is told of no failure.
      ended.catch(() => kill().catch(() => {}));
      return { processId, write, resize, kill: () => kill(), wait: async () => ({ exitCode: (await ended).exitCode }) };
    },
  };
}

async function* told(events: ReturnType<typeof eventsOf>, onData: (bytes: Uint8Array) => void | Promise<void>) {
  for await (const event of events) {
    if (event.type === "output") await onData(event.bytes);
    yield event;
  }
}
