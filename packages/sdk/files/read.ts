/** Reads files of a sandbox; if the connection breaks, it continues at the same byte. @module */
import { createByteBuffer } from "../../process/bytebuffer.ts";
import { ConflictError, ConnectionError, InvalidArgumentError, SandboxError, UnsupportedError } from "../errors.ts";
import type { UserOptions } from "../runtime/call.ts";
import { pause } from "../runtime/repeat.ts";
import type { RuntimeClient } from "../runtime/runtimeclient.ts";
import { chunksOf, streamOf } from "../runtime/streams.ts";
import { endpointPath } from "./entry.ts";

/** Options of `files.read`: which part of the file to read. */
export interface ReadOptions extends UserOptions {
  /** Number of bytes to skip at the beginning. @default 0 */
  offset?: number | undefined;
  /** Largest number of bytes to read; there may be fewer. Absent: the rest of the file. */
  length?: number | undefined;
}

/** The form in which `files.read` returns a file. */
export type ReadFormat = "text" | "bytes" | "blob" | "stream";

/** Bytes as file calls return them. */
export type Bytes = Uint8Array<ArrayBuffer>;

/**
 * Chunks are joined until they have this many bytes. A chunk needs over a kilobyte of memory, and may hold a single
 * byte.
 */
const PART_BYTES = 64 << 10;
/** Number of broken connections in a row without new bytes, after which reading fails. */
const MOST_BREAKS = 3;
/** Wait before the next connection, in milliseconds. */
const BREAK_MS = 50;

/** Reads a file in any format. @throws as `Files.read` */
export async function readFile(
  runtimeClient: RuntimeClient,
  path: string,
  { format = "text", signal, ...part }: ReadOptions & { format?: ReadFormat | undefined },
): Promise<string | Bytes | Blob | ReadableStream<Bytes>> {
  if (format === "stream") return await openStream(runtimeClient, path, { ...part, signal });
  const parts: Bytes[] = [];
  const gathered = createByteBuffer();
  for await (const chunk of readChunks(runtimeClient, path, { ...part, signal })) {
    gathered.add(chunk);
    if (gathered.size() >= PART_BYTES) parts.push(gathered.take());
  }
  const blob = new Blob([...parts, gathered.take()]);
  if (format === "blob") return blob;
  const bytes = new Uint8Array(await blob.arrayBuffer());
  // Keeps a byte order mark at the beginning, so that a file that is read and written back does not change.
  return format === "text" ? new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes) : bytes;
}

/** Waits for the first bytes, so that a missing file is reported when the stream is opened, not when it is read. */
async function openStream(runtimeClient: RuntimeClient, path: string, { signal, ...part }: ReadOptions) {
  const leaving = new AbortController();
  const signals = signal ? AbortSignal.any([signal, leaving.signal]) : leaving.signal;
  const chunks = readChunks(runtimeClient, path, { ...part, signal: signals });
  const first = await chunks.next();
  async function* all(): AsyncGenerator<Bytes> {
    if (first.done) return;
    yield first.value;
    yield* chunks;
  }
  return streamOf(all(), { onCancel: () => leaving.abort() });
}

/** Yields the content of a file as it arrives. @throws as `Files.read`, also after the first chunk */
export async function* readChunks(
  runtimeClient: RuntimeClient,
  path: string,
  options: ReadOptions,
): AsyncGenerator<Bytes> {
  const { offset = 0, length = Infinity, signal } = options;
  checkPart(path, offset, length);
  const end = offset + length;
  let tag: string | undefined;
  for (let at = offset, breaks = 0; at < end || breaks === 0;) {
    const answer = await ask(runtimeClient, path, { at, end, tag, signal });
    if (answer === undefined) return;
    tag ??= answer.headers.get("ETag") ?? undefined;
    const before = at;
    try {
      for await (const chunk of bodyOf(answer)) {
        const wanted = chunk.subarray(0, end - at);
        at += wanted.length;
        if (wanted.length > 0) yield wanted;
        if (wanted.length < chunk.length) return;
      }
      return;
    } catch (error) {
      signal?.throwIfAborted();
      breaks = at > before ? 1 : breaks + 1;
      if (breaks > MOST_BREAKS || tag === undefined) throw broken(runtimeClient, path, error);
      await pause(BREAK_MS, signal);
    }
  }
}

interface RangeRequest {
  at: number;
  end: number;
  tag: string | undefined;
  signal: AbortSignal | undefined;
}

/** Requests the bytes from `at`. Undefined if there are none. The request is repeated if the connection breaks. */
async function ask(
  runtimeClient: RuntimeClient,
  path: string,
  { at, end, tag, signal }: RangeRequest,
): Promise<Response | undefined> {
  const action = `read ${JSON.stringify(path)}`;
  const isWhole = at === 0 && end === Infinity;
  const headers: Record<string, string> = {
    ...isWhole ? {} : { Range: `bytes=${at}-${end === Infinity ? "" : Math.max(at, end - 1)}` },
    ...tag === undefined ? {} : { "If-Range": tag },
  };
  const request = { headers, signal, action, repeatable: true };
  const answer = await runtimeClient.request(endpointPath("files", path), request).catch((error) => {
    if (error instanceof SandboxError && error.reason === "OUT_OF_RANGE") return undefined;
    throw error;
  });
  if (answer === undefined) return undefined;
  const why = refusal(runtimeClient, answer, action, { isWhole, isMore: tag !== undefined, isNone: at === end });
  if (why === undefined) return answer;
  await answer.body?.cancel();
  if (why === "nothing") return undefined;
  throw why;
}

function refusal(
  { object }: RuntimeClient,
  { status, headers }: Response,
  action: string,
  { isWhole, isMore, isNone }: { isWhole: boolean; isMore: boolean; isNone: boolean },
): SandboxError | "nothing" | undefined {
  if (headers.get("Content-Type") !== "application/octet-stream") {
    return new InvalidArgumentError(`Cannot ${action}: it is a folder`, { object, reason: "IS_A_FOLDER" });
  }
  if (isNone) return "nothing";
  if (status === 206 || isWhole) return undefined;
  if (isMore) {
    return new ConflictError(`Cannot ${action} to its end: the connection broke, and it is another file now`, {
      object,
    });
  }
  return new UnsupportedError(`Cannot ${action}: the runtime sends no parts of files`, { object });
}

async function* bodyOf({ body }: Response): AsyncGenerator<Bytes> {
  if (body) yield* chunksOf(body) as AsyncGenerator<Bytes>;
}

function checkPart(path: string, offset: number, length: number): void {
  const isFine = Number.isInteger(offset) && offset >= 0 && (Number.isInteger(length) || length === Infinity) &&
    length >= 0;
  if (isFine) return;
  throw new InvalidArgumentError(
    `Cannot read ${JSON.stringify(path)}: offset ${offset} and length ${length} must be whole and not below 0`,
  );
}

function broken({ object }: RuntimeClient, path: string, cause: unknown): ConnectionError {
  return new ConnectionError(`Cannot read ${JSON.stringify(path)} to its end: the connection broke`, { object, cause });
}
