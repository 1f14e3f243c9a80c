/** Watches a folder of a sandbox; if the connection breaks, it connects again and reports a gap. @module */
import * as z from "zod";
import { ALIVE_MS } from "../../api/router/protocol.ts";
import { ConnectionError, FileNotFoundError, SandboxError } from "../errors.ts";
import type { UserOptions } from "../runtime/call.ts";
import { pause, REPEAT_WAITS_MS } from "../runtime/repeat.ts";
import type { RuntimeClient } from "../runtime/runtimeclient.ts";
import { linesOf } from "../runtime/streams.ts";
import { NO_WAKE } from "../transport/transport.ts";
import { endpointPath, type Entry, joinPath } from "./entry.ts";

/**
 * A change in a folder. `path` is accepted by other calls: it starts with the folder's path as the caller wrote it.
 *
 * | type | meaning |
 * |---|---|
 * | `ready` | all changes after it are reported; only `incomplete` can come earlier |
 * | `created` | the name is new, or now names another file (also after a rename); may be reported twice |
 * | `modified` | content, mode or times changed |
 * | `removed` | the file no longer exists; with the folder's own path, this is the last event |
 * | `gap` | events were lost: list again. The reader was too slow (`overflow`), or the connection broke (`reconnected`) |
 * | `incomplete` | `path` may not be read, or there are too many folders: changes below it are not reported |
 */
export type FileEvent =
  | { type: "ready" }
  | { type: "created"; path: string; kind: Entry["type"] }
  | { type: "modified" | "removed" | "incomplete"; path: string }
  | { type: "gap"; reason: "overflow" | "reconnected" };

/** Options of `files.watch`. */
export interface WatchOptions extends UserOptions {
  /** Also watches all subfolders, including those created later. @default false */
  recursive?: boolean | undefined;
  /**
   * Whether to connect again if the connection breaks. If false, the watch fails with a {@link ConnectionError}. A new
   * connection does not resume a sandbox that was suspended: the watch then fails.
   *
   * @default true
   */
  reconnect?: boolean | undefined;
}

/** Longest silence on a connection, in milliseconds: two of the runtime's signs of life may be lost. */
const SILENCE_MS = 3 * ALIVE_MS;

const wireSchema = z.union([
  z.object({ type: z.enum(["ready", "overflow", "alive"]) }),
  z.object({ type: z.literal("created"), path: z.string(), kind: z.enum(["file", "directory", "symlink", "other"]) }),
  z.object({ type: z.enum(["modified", "removed", "incomplete"]), path: z.string() }),
]);
type WireEvent = z.infer<typeof wireSchema>;

/** Watches a folder. @param silenceMs silence after which a connection counts as broken @throws as `Files.watch` */
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
        if (event.type === "ready") isFirst = false;
        if (event.type === "removed" && event.path === ".") return;
      }
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof FileNotFoundError && !isFirst) return yield { type: "removed", path };
      // Undefined after the last wait: then the watch fails.
      const wait = REPEAT_WAITS_MS[breaks++];
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

/**
 * Yields the events of one connection. It always ends with an error, because only "removed" ends a watch.
 *
 * @throws {@link ConnectionError} when the connection ends
 */
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

/** The handle of a watch with a callback. */
export interface WatchHandle {
  /** Ends the watch. The callback is not called after that. */
  stop(): Promise<void>;
  /** Resolves when the watch has ended, by `stop` or because the folder was deleted. Rejects if the watch failed. */
  closed: Promise<void>;
}

/** Options of `files.watchDir`. */
export interface WatchDirOptions extends WatchOptions {
  /** Called once when the watch ends; with the error if it failed. `closed` rejects with the same error. */
  onExit?: ((error?: unknown) => void) | undefined;
}

/** Watches with a callback; resolves as soon as all further changes are reported. @throws as `Files.watch` */
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
