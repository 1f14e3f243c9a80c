/** Reads recordings line by line, from files or folders. @module */
import { parseJson } from "../../api/objects/json.ts";
import { Buffer } from "node:buffer";
import { createReadStream } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { pipeline } from "node:stream";
import { createZstdDecompress } from "node:zlib";
import {
  type RecordedExchange,
  recordedExchangeSchema,
  type RecordingHeader,
  recordingHeaderSchema,
} from "../../webhook/exchange.ts";

/** A line of a recording. Each file begins with a header. `place` is the file and line, for messages. */
export type RecordedLine = { header: RecordingHeader } | { exchange: RecordedExchange; place: string };

/** A file is not a valid recording. The message says which file, and why. */
export class UnreadableError extends Error {
  override name = "UnreadableError";
}

const RECORDING_FILE = /\.jsonl(\.zst)?$/;
const LINE_FEED = 10;

/**
 * Reads files in the order of their names, which is the order of time within a process. A file that ends in the middle
 * of a line is not an error: its process was killed.
 *
 * @throws {UnreadableError}
 */
export async function* readRecordings(paths: readonly string[]): AsyncGenerator<RecordedLine> {
  const files: string[] = [];
  for (const path of paths) files.push(...await filesOf(path));
  for (const file of files.sort((a, b) => basename(a) < basename(b) ? -1 : 1)) yield* readFile(file);
}

async function filesOf(path: string): Promise<string[]> {
  try {
    if (!(await stat(path)).isDirectory()) return [path];
    const files = (await readdir(path)).filter((name) => RECORDING_FILE.test(name)).map((name) => join(path, name));
    if (files.length > 0) return files;
  } catch (error) {
    throw unreadable(path, error);
  }
  throw new UnreadableError(`Cannot read "${path}": there is no recording in it`);
}

async function* readFile(file: string): AsyncGenerator<RecordedLine> {
  let number = 0;
  try {
    for await (const line of linesOf(file)) {
      const value = parseJson(line);
      if (number++ === 0) yield { header: recordingHeaderSchema.parse(value) };
      else yield { exchange: recordedExchangeSchema.parse(value), place: `${basename(file)}:${number}` };
    }
  } catch (error) {
    throw unreadable(number === 0 ? file : `${file}:${number}`, error);
  }
  if (number === 0) throw new UnreadableError(`Cannot read "${file}": it has no line`);
}

function unreadable(path: string, error: unknown): UnreadableError {
  const { code, message } = error as { code?: string; message?: string };
  const why = error instanceof SyntaxError
    ? "a line is not JSON"
    : error instanceof Error && error.name === "ZodError"
    ? "a line is not of a recording"
    : code === "ENOENT"
    ? "it does not exist"
    : message;
  return new UnreadableError(`Cannot read "${path}": ${why}`, { cause: error });
}

/** Yields complete lines with their line ends; text after the last line end is dropped. */
async function* linesOf(file: string): AsyncGenerator<string> {
  let rest: Buffer[] = [];
  for await (const chunk of untilCut(bytesOf(file))) {
    let from = 0;
    for (let to = chunk.indexOf(LINE_FEED); to >= 0; to = chunk.indexOf(LINE_FEED, from)) {
      yield Buffer.concat([...rest, chunk.subarray(from, to)]).toString();
      rest = [];
      from = to + 1;
    }
    rest.push(chunk.subarray(from));
  }
}

function bytesOf(file: string): AsyncIterable<Buffer> {
  const packed = createReadStream(file);
  // The reader gets the error from the stream that it reads.
  return file.endsWith(".zst") ? pipeline(packed, createZstdDecompress(), () => {}) : packed;
}

async function* untilCut(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  try {
    yield* bytes;
  } catch (error) {
    if ((error as { code?: string }).code !== "Z_BUF_ERROR") throw error;
  }
}
