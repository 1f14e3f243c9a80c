/** Writes the requests and answers of hooks to files, in the background: no answer waits for it. @module */
import { Buffer } from "node:buffer";
import { appendFile, mkdir, readdir, stat, unlink } from "node:fs/promises";
import { join } from "node:path";
import { constants, createZstdCompress } from "node:zlib";
import { type Exchange, exchangeLine, headerLine, type RecordingHeader } from "./exchange.ts";
import { errorFields, type Log } from "../process/log.ts";

/** A recording in progress. */
export interface Recording {
  /** Queues an exchange, and returns at once. */
  record(exchange: Exchange): void;
  /** Resolves when all queued exchanges are written. */
  close(): Promise<void>;
}

/** Where a recording is written, and how missing exchanges are reported. */
export interface RecordingOptions {
  /** Created if it does not exist. */
  folder: string;
  /** Largest size of all files in the folder together. If there is more, the oldest files are deleted. */
  maxBytes: number;
  /** The settings with which the hooks were created. */
  settings: RecordingHeader["settings"];
  log: Log;
  unrecorded: { inc(labels: { cause: "backlog" | "write" }, count: number): void };
  /** Longest time that an exchange stays in memory, in milliseconds. @default 1000 */
  flushMs?: number;
  /** Largest amount that waits for the disk, in bytes. If there is more, exchanges are lost. @default 33554432 */
  maxBacklogBytes?: number;
}

/** Bytes that are compressed together. With less, compression is poor; with more, it blocks for long. */
const BATCH_BYTES = 1024 * 1024;
/** Number of files in the folder. Deleting the oldest loses this share of the recording. */
const FILES = 16;
/** Names sort by time: first by the start of the process, then by the number of the file. */
const FILE_NAME = /^hooks-.*\.jsonl\.zst$/;
/** Requests repeat each other: the fastest level makes them 50 times smaller, at a third of the cost of gzip. */
const LEVEL = 1;

/**
 * Starts a recording. Each batch is compressed and flushed completely, so that what a killed process has written can be
 * read.
 *
 * @throws if the folder cannot be created
 */
export async function openRecording(options: RecordingOptions): Promise<Recording> {
  const { folder, flushMs = 1000, maxBacklogBytes = 32 * 1024 * 1024 } = options;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const files = createFiles(options);
  let batch = emptyBatch();
  /** Bytes that are queued and not written. */
  let backlog = 0;
  let isBehind = false;
  let writing: Promise<void> = Promise.resolve();
  let timer: ReturnType<typeof setTimeout> | undefined;

  function flush(): void {
    clearTimeout(timer);
    timer = undefined;
    const { parts, bytes, count } = batch;
    batch = emptyBatch();
    if (count > 0) writing = writing.then(() => files.write(parts, count)).then(() => void (backlog -= bytes));
  }

  function lose(): void {
    if (!isBehind) options.log("warn", "Recording falls behind", { folder, backlogBytes: backlog });
    isBehind = true;
    options.unrecorded.inc({ cause: "backlog" }, 1);
  }

  return {
    record(exchange) {
      const size = exchange.request.byteLength + exchange.answer.byteLength;
      if (backlog + size > maxBacklogBytes) return lose();
      isBehind = false;
      for (const part of exchangeLine(exchange)) batch.parts.push(part);
      batch.count++;
      batch.bytes += size;
      backlog += size;
      if (batch.bytes >= BATCH_BYTES) flush();
      else timer ??= setTimeout(flush, flushMs);
    },
    close() {
      flush();
      return writing.then(files.end);
    },
  };
}

function emptyBatch() {
  return { parts: [] as Uint8Array[], bytes: 0, count: 0 };
}

interface Files {
  /** Never throws: what cannot be written is lost, logged and counted. */
  write(parts: Uint8Array[], count: number): Promise<void>;
  end(): Promise<void>;
}

function createFiles({ folder, maxBytes, settings, log, unrecorded }: RecordingOptions): Files {
  const id = crypto.randomUUID().slice(0, 8);
  const startedAt = new Date().toISOString().replaceAll(/[:.]/g, "-");
  const process = `${startedAt}-${id}`;
  let file = 0;
  let size = 0;
  let pack: Pack | undefined;

  async function write(parts: Uint8Array[]): Promise<void> {
    if (!pack || size >= maxBytes / FILES) {
      await end();
      await makeRoom(folder, maxBytes - maxBytes / FILES, log);
      file++;
      parts.unshift(headerLine({ recording: 1, process, settings }));
      pack = createPacker();
      size = 0;
    }
    await append(Buffer.concat(parts), constants.ZSTD_e_flush);
  }

  /** Ends the current file. A file without this end can be read, too; later batches go to another file. */
  async function end(): Promise<void> {
    if (pack) await append(new Uint8Array(), constants.ZSTD_e_end);
    pack = undefined;
  }

  async function append(bytes: Uint8Array, flush: number): Promise<void> {
    const packed = await pack?.(bytes, flush) ?? bytes;
    const name = `hooks-${process}-${String(file).padStart(6, "0")}.jsonl.zst`;
    await appendFile(join(folder, name), packed, { mode: 0o600 });
    size += packed.byteLength;
  }

  function failed(error: unknown, count: number): void {
    // After a failure, the contents of the file are not known: the next batch goes to another file.
    pack = undefined;
    unrecorded.inc({ cause: "write" }, count);
    log("error", "Cannot write to the recording", { folder, count, ...errorFields(error), stack: undefined });
  }

  return {
    write: (parts, count) => write(parts).catch((error: unknown) => failed(error, count)),
    end: () => end().catch((error: unknown) => failed(error, 0)),
  };
}

/** Compresses a batch. `flush` is `ZSTD_e_flush`, or `ZSTD_e_end` for the last batch of a file. */
type Pack = (bytes: Uint8Array, flush: number) => Promise<Uint8Array>;

/** Creates the compressor of one file. Each batch is compressed with what came before it. */
function createPacker(): Pack {
  const packer = createZstdCompress({ params: { [constants.ZSTD_c_compressionLevel]: LEVEL } });
  let packed: Uint8Array[] = [];
  packer.on("data", (part: Uint8Array) => packed.push(part));
  return (bytes, flush) =>
    new Promise((resolve, reject) => {
      packer.once("error", reject);
      packer.write(bytes);
      packer.flush(flush, () => {
        packer.off("error", reject);
        resolve(Buffer.concat(packed));
        packed = [];
      });
    });
}

/**
 * Deletes the oldest files until the rest is small enough. If the folder cannot be read, it keeps growing, and that is
 * logged.
 */
async function makeRoom(folder: string, maxBytes: number, log: Log): Promise<void> {
  try {
    const names = (await readdir(folder)).filter((name) => FILE_NAME.test(name));
    const files = await Promise.all(names.map(async (name) => {
      const { size, mtimeMs } = await stat(join(folder, name));
      return { name, size, mtimeMs };
    }));
    files.sort((a, b) => a.mtimeMs - b.mtimeMs || (a.name < b.name ? -1 : 1));
    let all = files.reduce((sum, { size }) => sum + size, 0);
    for (const { name, size } of files) {
      if (all <= maxBytes) return;
      await unlink(join(folder, name));
      all -= size;
    }
  } catch (error) {
    log("warn", "Cannot make room in the recording", { folder, ...errorFields(error), stack: undefined });
  }
}
