/** Writes files of a sandbox, each atomically. @module */
import { InvalidArgumentError } from "../errors.ts";
import type { UserOptions } from "../runtime/call.ts";
import type { RuntimeClient } from "../runtime/runtimeclient.ts";
import { chunksOf, streamOf } from "../runtime/streams.ts";
import { endpointPath } from "./entry.ts";

/** Content to write. A stream is sent as it is read, and only once. */
export type FileData = string | Uint8Array | ArrayBuffer | Blob | ReadableStream<Uint8Array>;

/** Options of `files.write`. */
export interface WriteOptions extends UserOptions {
  /** Permission bits, such as `0o755`. Absent: those of the replaced file, or `0o644` for a new file. */
  mode?: number | undefined;
}

/** One of several files to write. */
export interface FileToWrite {
  path: string;
  data: FileData;
  /** Permission bits, as {@link WriteOptions.mode}. */
  mode?: number | undefined;
}

/** Number of files that are sent at the same time. */
const AT_ONCE = 8;

/**
 * Writes several files, some at the same time. After a failure, no more are started; the error is thrown when the
 * started ones are done.
 */
export async function writeAll(
  runtimeClient: RuntimeClient,
  files: FileToWrite[],
  { mode, signal }: WriteOptions,
): Promise<void> {
  const waiting = [...files];
  const failures: unknown[] = [];
  const worker = async () => {
    for (let file = waiting.shift(); file && failures.length === 0; file = waiting.shift()) {
      await writeFile(runtimeClient, file.path, file.data, { mode: file.mode ?? mode, signal }).catch((error) => {
        failures.push(error);
      });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  if (failures.length > 0) throw failures[0];
}

/**
 * Writes a file. Repeated if the connection breaks, except for a stream: the same bytes give the same file.
 *
 * @throws as `Files.write`
 */
export async function writeFile(
  runtimeClient: RuntimeClient,
  path: string,
  data: FileData,
  options: WriteOptions,
): Promise<void> {
  const { body, failure } = bodyOf(data);
  const answer = runtimeClient.request(endpointPath("files", path, { mode: modeText(options.mode) }), {
    method: "PUT",
    // The runtime would parse a form, and a Blob may have the type of a form.
    headers: { "Content-Type": "application/octet-stream" },
    body,
    signal: options.signal,
    repeatable: true,
    action: `write ${JSON.stringify(path)}`,
  });
  await (await answer.catch((error) => {
    options.signal?.throwIfAborted();
    throw failure() ?? error;
  })).body?.cancel();
}

/**
 * Returns permission bits as the API expects them: four octal digits.
 *
 * @throws {@link InvalidArgumentError} for other bits
 */
export function modeText(mode: number | undefined): string | undefined {
  if (mode === undefined) return undefined;
  if (Number.isInteger(mode) && mode >= 0 && mode <= 0o777) return mode.toString(8).padStart(4, "0");
  throw new InvalidArgumentError(`Cannot use mode ${mode}: permission bits are 0 to 0o777`);
}

type Body = string | Uint8Array<ArrayBuffer> | Blob | ReadableStream<Uint8Array>;

/** `failure` returns the error of the caller's own stream. `fetch` would report it as a broken connection. */
function bodyOf(data: FileData): { body: Body; failure: () => unknown } {
  let failed: unknown;
  const failure = () => failed;
  if (data instanceof ReadableStream) {
    return { body: streamOf(chunksOf(data), { onError: (error) => failed = error }), failure };
  }
  if (data instanceof ArrayBuffer) return { body: new Uint8Array(data), failure };
  if (!(data instanceof Uint8Array)) return { body: data, failure };
  const isShared = !(data.buffer instanceof ArrayBuffer);
  return { body: isShared ? new Uint8Array(data) : data as Uint8Array<ArrayBuffer>, failure };
}
