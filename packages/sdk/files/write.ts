/** Writes files of a sandbox, each whole or not at all. @module */
import type { RuntimeClient } from "../runtime/runtimeclient.ts";
import { chunksOf, streamOf } from "../runtime/streams.ts";
import { InvalidArgumentError } from "../errors.ts";
import { endpointPath } from "./paths.ts";

/** What may be written. A stream is sent as it is read, and once. */
export type FileData = string | Uint8Array | ArrayBuffer | Blob | ReadableStream<Uint8Array>;

/** How to write. */
export interface WriteOptions {
  /** Permission bits, such as `0o755`. Without: those of the file that is replaced, else `0o644`. */
  mode?: number | undefined;
  signal?: AbortSignal | undefined;
}

/** One of several files to write. */
export interface FileToWrite {
  path: string;
  data: FileData;
  /** As {@link WriteOptions.mode}. */
  mode?: number | undefined;
}

/** Files on their way at once. */
const AT_ONCE = 8;

/** Writes several files, some at once. After a failure no more are begun; it is thrown when those begun are done. */
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

/** Writes a file. Repeated as needed, but for a stream: the same bytes again are the same file. @throws as `Files.write` */
export async function writeFile(
  runtimeClient: RuntimeClient,
  path: string,
  data: FileData,
  options: WriteOptions,
): Promise<void> {
  const { body, failure } = bodyOf(data);
  const answer = runtimeClient.request(endpointPath("files", path, { mode: modeText(options.mode) }), {
    method: "PUT",
    // A blob's own type might be that of a form, which the runtime would take apart.
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

/** Writes permission bits as the wire has them: four octal digits. @throws {@link InvalidArgumentError} for other bits */
export function modeText(mode: number | undefined): string | undefined {
  if (mode === undefined) return undefined;
  if (Number.isInteger(mode) && mode >= 0 && mode <= 0o777) return mode.toString(8).padStart(4, "0");
  throw new InvalidArgumentError(`Cannot use mode ${mode}: permission bits are 0 to 0o777`);
}

type Body = string | Uint8Array<ArrayBuffer> | Blob | ReadableStream<Uint8Array>;

/** `failure` says what the caller's own stream failed of, which `fetch` would tell as a broken connection. */
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
