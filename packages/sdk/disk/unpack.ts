/** Unpacks a tar archive from a sandbox, which may be hostile, into a folder of the local disk. @module */
import { pipeline } from "node:stream/promises";
import type { Header } from "tar-stream";
import { dateOf, extractNames, namesOf } from "../../process/tarheaders.ts";
import type { TransferCount, TransferOptions } from "../files/transfer.ts";
import { createExtractor, type Extractor, type FileAttributes, OutsideFolderError, partsOf } from "./extract.ts";

/** The archive is invalid or incomplete, or contains a name that leads out of the folder. */
export class BadTarError extends Error {
  override name = "BadTarError";
}

/** Options of `unpackInto`. */
export interface UnpackOptions {
  /** Real path of the folder. */
  folder: string;
  filter: TransferOptions["filter"];
  tally: TransferCount;
  /**
   * Limit for the paths that must be kept until the end, in characters; each counts {@link PATH_CHARACTERS} more.
   *
   * @default 268435456
   */
  mostCharacters?: number | undefined;
}

/** What a path counts in addition to its characters. */
const PATH_CHARACTERS = 256;

interface Unpacking extends UnpackOptions {
  extractor: Extractor;
  /** Modes of folders, which are set at the end: in a folder without write permission, no files can be created. */
  folders: Map<string, { parts: string[]; attributes: FileAttributes }>;
  /**
   * Counts a path that is kept in memory. A sandbox may send endlessly many that need no space on the disk.
   *
   * @throws {BadTarError}
   */
  keep: (path: string) => void;
  /** Prefix of the paths below a folder that the filter left out. */
  left?: string;
}

type TarEntry = AsyncIterable<unknown> & { header: Header };

/**
 * Unpacks an archive, one file at a time as it arrives. Files that were written before a failure stay.
 *
 * @throws {BadTarError | ConflictError} or the error of the source or the disk
 */
export async function unpackInto(source: AsyncIterable<Uint8Array>, options: UnpackOptions): Promise<void> {
  const keep = createKeep(options.mostCharacters);
  const unpacking: Unpacking = { ...options, extractor: createExtractor(options.folder), folders: new Map(), keep };
  let broken: unknown;
  const tar = extractNames(({ path, reason }) => isLeftOut(unpacking, path, "file") || skip(unpacking, path, reason));
  const reading = pipeline(recording(source, (error) => broken = error), tar);
  reading.catch(() => {});
  try {
    for await (const entry of tar) {
      await unpackEntry(unpacking, entry);
      entry.resume();
    }
    await reading;
  } catch (error) {
    throw broken ?? whatFailed(error, await reading.then(() => undefined, (why) => why));
  }
  const folders = [...unpacking.folders.values()].reverse();
  for (const { parts, attributes } of folders) await unpacking.extractor.setAttributes(parts, attributes);
}

function createKeep(most = 256 << 20): Unpacking["keep"] {
  let left = most;
  return (path) => {
    left -= PATH_CHARACTERS + path.length;
    if (left < 0) throw new BadTarError("the sandbox sent more folders, and what is left out, than can be remembered");
  };
}

async function* recording(source: AsyncIterable<Uint8Array>, onError: (error: unknown) => void) {
  try {
    yield* source;
  } catch (error) {
    onError(error);
    throw error;
  }
}

async function unpackEntry(unpacking: Unpacking, entry: TarEntry): Promise<void> {
  const { extractor, tally } = unpacking;
  const { type, mode } = entry.header;
  const { name, linkname } = namesOf(entry.header);
  const parts = safeParts(name);
  if (parts.length === 0 || isLeftOut(unpacking, parts.join("/"), type)) return;
  const attributes = {
    mode: mode ?? (type === "directory" ? 0o755 : 0o644),
    modifiedAt: dateOf(entry.header) ?? new Date(0),
  };
  if (type === "directory") {
    const path = parts.join("/");
    if (!unpacking.folders.has(path)) unpacking.keep(path);
    await extractor.folder(parts);
    unpacking.folders.set(path, { parts, attributes });
    tally.done.directories++;
  } else if (type === "file" || type === "contiguous-file") {
    await extractor.file(parts, tally.watch(entry as AsyncIterable<Uint8Array>), attributes);
    tally.file();
  } else if (type === "symlink") {
    await makeLink(unpacking, parts, linkname ?? "");
  } else {
    skip(unpacking, name, `it is a ${type}`);
  }
}

function safeParts(name: string): string[] {
  try {
    return partsOf(name);
  } catch (error) {
    if (!(error instanceof OutsideFolderError)) throw error;
    throw new BadTarError(`the sandbox sent the name ${JSON.stringify(name)}, which leads out of the folder`);
  }
}

function isLeftOut(unpacking: Unpacking, path: string, type: Header["type"]): boolean {
  if (unpacking.left !== undefined && path.startsWith(unpacking.left)) return true;
  const known = type === "directory" || type === "symlink" ? type : "file";
  if (unpacking.filter?.(path, known) !== false) return false;
  if (type === "directory") unpacking.left = `${path}/`;
  return true;
}

function skip({ tally, keep }: Unpacking, path: string, reason: string): void {
  keep(path + reason);
  tally.skip(path, reason);
}

async function makeLink(unpacking: Unpacking, parts: string[], linkname: string): Promise<void> {
  const { extractor, tally } = unpacking;
  try {
    await extractor.link(parts, linkname);
    tally.done.links++;
  } catch (error) {
    if (!(error instanceof OutsideFolderError)) throw error;
    skip(unpacking, parts.join("/"), error.message);
  }
}

/** tar-stream only reports that it was destroyed. The pipeline's error says what is wrong with the archive. */
function whatFailed(error: unknown, why: unknown): unknown {
  const cause = (error as { code?: string }).code === "STREAM_DESTROYED" ? why ?? error : error;
  const isParser = cause instanceof Error && /tar header|Invalid header|Unexpected end|exceeds max/.test(cause.message);
  return isParser ? new BadTarError("the sandbox sent no whole tar") : cause;
}
