/** Watches a folder of a sandbox; connects again where its connection breaks, and tells that something may be missing. @module */
import * as z from "zod";
import { ALIVE_MS } from "../../api/router/timeouts.ts";
import { ConnectionError, FileNotFoundError, SandboxError } from "../errors.ts";
import type { CallOptions } from "../runtime/call.ts";
import type { RuntimeClient } from "../runtime/runtimeclient.ts";
import { pause, WAITS_MS } from "../runtime/repeat.ts";
import { linesOf } from "./lines.ts";
import type { Entry } from "./entry.ts";
import { NO_WAKE } from "../transport/transport.ts";
import { endpointPath, joinPath } from "./paths.ts";

/**
 * What happened in a folder. `path` is as other calls take it: the folder's path as it was given, and what follows.
 *
 * | type | meaning |
 * |---|---|
 * | `ready` | the first event: from here on nothing is missed |
 * | `created` | the name is new, or stands for another file (also after a rename); may be told twice |
 * | `modified` | content, mode or times changed |
 * | `removed` | nothing is there any more; with the folder's own path it is the last event |
 * | `gap` | events are lost: list anew. The reader was too slow (`overflow`), or the connection broke (`reconnected`) |
 * | `incomplete` | more folders than can be watched: from `path` down there will be no events |
 */
export type FileEvent =
  | { type: "ready" }
  | { type: "created"; path: string; kind: Entry["type"] }
  | { type: "modified" | "removed" | "incomplete"; path: string }
  | { type: "gap"; reason: "overflow" | "reconnected" };

/** How to watch. */
export interface WatchOptions extends CallOptions {
  /** Also the folders below, those that are made later among them. @default false */
  recursive?: boolean | undefined;
  /**
   * False: a broken connection ends the watch with a {@link ConnectionError}. A new connection wakes no sandbox that was
   * suspended meanwhile: the watch fails then. @default true
   */
  reconnect?: boolean | undefined;
}

/** Two words of the runtime may be lost or late. */
const SILENCE_MS = 3 * ALIVE_MS;

const wireSchema = z.union([
  z.object({ type: z.enum(["ready", "overflow", "alive"]) }),
  z.object({ type: z.literal("created"), path: z.string(), kind: z.enum(["file", "directory", "symlink", "other"]) }),
  z.object({ type: z.enum(["modified", "removed", "incomplete"]), path: z.string() }),
]);
type WireEvent = z.infer<typeof wireSchema>;

/** Watches it. @param silenceMs without a word a connection counts as broken @throws as `Files.watch` */
export async function* watchFolder(
  runtimeClient: RuntimeClient,
  path: string,
  options: WatchOptions,
  silenceMs = SILENCE_MS,
): AsyncGenerator<FileEvent> {
  const { reconnect = true, signal } = options;
  let isFirst = true;
  for (let breaks = 0;;) {
    try {
      for await (const event of connection(runtimeClient, path, options, isFirst ? {} : NO_WAKE, silenceMs)) {
        if (event.type !== "ready") breaks = 0;
        if (event.type === "alive") continue;
        yield eventOf(event, path, isFirst);
        isFirst = false;
        if (event.type === "removed" && event.path === ".") return;
      }
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof FileNotFoundError && !isFirst) return yield { type: "removed", path };
      // After the last one watching gives up.
      const wait = WAITS_MS[breaks++];
      if (!(error instanceof ConnectionError) || isFirst || !reconnect || wait === undefined) throw error;
      await pause(wait, signal);
    }
  }
}

function eventOf(event: Exclude<WireEvent, { type: "alive" }>, folder: string, isFirst: boolean): FileEvent {
  switch (event.type) {
    case "ready":
      return isFirst ? { type: "ready" } : { type: "gap", reason: "reconnected" };
    case "overflow":
    case "alive":
      return { type: "gap", reason: "overflow" };
    default:
      return { ...event, path: event.path === "." ? folder : joinPath(folder, event.path) };
  }
}

/** Events of one connection. @throws {@link ConnectionError} at its end: a watch has none of its own but "removed" */
async function* connection(
  runtimeClient: RuntimeClient,
  path: string,
  { recursive = false, signal }: WatchOptions,
  headers: Record<string, string>,
  silenceMs: number,
): AsyncGenerator<WireEvent> {
  const action = `watch ${JSON.stringify(path)}`;
  const { object } = runtimeClient;
  const leaving = new AbortController();
  const signals = signal ? AbortSignal.any([signal, leaving.signal]) : leaving.signal;
  const url = endpointPath("watch", path, { recursive: recursive ? "true" : undefined });
  try {
    const answer = await runtimeClient.request(url, { signal: signals, action, headers, repeatable: true });
    for await (const line of linesOf(answer.body, silenceMs)) yield wireEvent(line, runtimeClient, action);
  } catch (cause) {
    signal?.throwIfAborted();
    if (cause instanceof SandboxError) throw cause;
    throw new ConnectionError(`Cannot ${action} any longer: the connection broke`, { object, cause });
  } finally {
    leaving.abort();
  }
  throw new ConnectionError(`Cannot ${action} any longer: the connection ended`, { object });
}

function wireEvent(line: string, { object }: RuntimeClient, action: string): WireEvent {
  try {
    return wireSchema.parse(JSON.parse(line));
  } catch (cause) {
    throw new SandboxError(`Cannot ${action}: the answer is not from hookbox's runtime`, { object, cause });
  }
}

/** A watch that calls back. */
export interface WatchHandle {
  /** Ends the watch; after it the callback is not called any more. */
  stop(): Promise<void>;
  /** Resolves when the watch has ended: by `stop`, or because the folder is gone. Rejects with what it failed of. */
  closed: Promise<void>;
}

/** How to watch with a callback. */
export interface WatchDirOptions extends WatchOptions {
  /** Called once at the end, with the error if the watch has failed. Without it, `closed` rejects with that error. */
  onExit?: ((error?: unknown) => void) | undefined;
}

/** Calls back; resolves once nothing is missed any more. @throws as `Files.watch` */
export async function watchDir(
  runtimeClient: RuntimeClient,
  path: string,
  callback: (event: FileEvent) => unknown,
  { onExit, signal, ...options }: WatchDirOptions,
): Promise<WatchHandle> {
  const leaving = new AbortController();
  const signals = signal ? AbortSignal.any([signal, leaving.signal]) : leaving.signal;
  const events = watchFolder(runtimeClient, path, { ...options, signal: signals });
  await events.next();
  const run = async () => {
    for await (const event of events) {
      if (leaving.signal.aborted) return;
      await callback(event);
    }
  };
  const closed = run().catch((error) => {
    if (!leaving.signal.aborted) throw error;
  });
  // If the caller does not use `closed`, an unhandled rejection must not end the caller's program.
  if (onExit) closed.then(() => onExit(), onExit);
  else closed.catch(() => {});
  return {
    closed,
    stop: async () => {
      leaving.abort();
      await closed.catch(() => {});
    },
  };
}
