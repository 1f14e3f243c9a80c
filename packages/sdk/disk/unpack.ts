/**
 * Unpacks a tar archive from a sandbox, which may be hostile, into a folder of the local disk, and never writes outside
 * of that folder. @module
 */
import { pipeline } from "node:stream/promises";
import { randomUUID } from "node:crypto";
import { chmod, lstat, mkdir, open, rename, symlink, unlink, utimes } from "node:fs/promises";
import { join, sep } from "node:path";
import type { Header } from "tar-stream";
import { dateOf, extractNames, namesOf } from "../../process/tarheaders.ts";
import type { TransferCount, TransferOptions } from "../files/transfer.ts";
import { bytePath, type FSPath } from "../../process/bytepaths.ts";
import { ConflictError } from "../errors.ts";

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

/** A path or a symlink leads out of the folder. */
export class OutsideFolderError extends Error {
  override name = "OutsideFolderError";
}

/** Permissions and modification time of a file or folder. */
export interface FileAttributes {
  /** Permission bits. Other bits, such as setuid, are ignored. */
  mode: number;
  modifiedAt: Date;
}

/** The mode bits that a sandbox may set. A setuid program would run as the user who downloads it. */
const PERMISSIONS = 0o777;

/** Writes below one folder. A path is a list of names, as {@link partsOf} returns it. */
interface Extractor {
  /**
   * Creates a folder and its missing parents.
   *
   * @throws {@link ConflictError} if a file or a symlink (also to a folder) is in the place of one of these folders
   */
  folder(parts: string[]): Promise<void>;
  /** Writes a file atomically. Replaces an existing file, or an existing symlink (but not its target). */
  file(parts: string[], content: AsyncIterable<Uint8Array>, attributes: FileAttributes): Promise<void>;
  /** Creates a symlink. @throws {OutsideFolderError} if the symlink leads out of the folder, or may do so */
  link(parts: string[], linkname: string): Promise<void>;
  /**
   * Sets the attributes of a folder. Call this when all files in the folder are written: each write changes its time.
   */
  setAttributes(parts: string[], attributes: FileAttributes): Promise<void>;
}

/**
 * Splits the name of an entry into its parts.
 *
 * @throws {OutsideFolderError} if the name is absolute, contains "..", or has a special meaning on this system
 */
export function partsOf(name: string): string[] {
  const parts = name.split("/").filter((part) => part !== "" && part !== ".");
  const isForeign = sep === "\\" && /[\\:]/.test(name);
  if (name.startsWith("/") || parts.includes("..") || name.includes("\0") || isForeign) {
    throw new OutsideFolderError(`${JSON.stringify(name)} leads out of the folder`);
  }
  return parts;
}

/** Creates an extractor for an existing folder. @param top real path of the folder, without symlinks */
function createExtractor(top: string): Extractor {
  const pathOf = (parts: string[]) => join(top, ...parts);
  const bytePathOf = (parts: string[]) => bytePath(pathOf(parts));
  // Paths that are real folders, not symlinks. They stay folders, because the extractor never replaces one.
  const realFolders = new Set([""]);
  const folder = async (parts: string[]) => {
    for (let depth = 1; depth <= parts.length; depth++) {
      const path = parts.slice(0, depth).join("/");
      if (realFolders.has(path)) continue;
      await makeRealFolder(pathOf(parts.slice(0, depth)));
      realFolders.add(path);
    }
  };
  return {
    folder,
    file: async (parts, content, attributes) => {
      await folder(parts.slice(0, -1));
      await writeWhole(pathOf(parts), content, attributes);
    },
    link: async (parts, linkname) => {
      checkLink(parts, linkname);
      await folder(parts.slice(0, -1));
      await putInPlace(pathOf(parts), (temporary) => symlink(bytePath(linkname), temporary));
    },
    setAttributes: async (parts, { mode, modifiedAt }) => {
      await utimes(bytePathOf(parts), modifiedAt, modifiedAt);
      await chmod(bytePathOf(parts), mode & PERMISSIONS);
    },
  };
}

/**
 * Allows ".." only at the beginning of a link. If a name before ".." is itself a symlink, ".." leads to the parent of
 * that symlink's target, which may be outside of the folder.
 */
function checkLink(parts: string[], linkname: string): void {
  const steps = linkname.split("/").filter((step) => step !== "" && step !== ".");
  const firstName = steps.findIndex((step) => step !== "..");
  const levelsUp = firstName === -1 ? steps.length : firstName;
  const isForeign = sep === "\\" && /[\\:]/.test(linkname);
  if (linkname.startsWith("/") || isForeign || levelsUp > parts.length - 1 || steps.slice(levelsUp).includes("..")) {
    throw new OutsideFolderError(`it leads out of the folder, to ${JSON.stringify(linkname)}`);
  }
}

async function makeRealFolder(path: string): Promise<void> {
  await mkdir(bytePath(path)).catch(async (error) => {
    if (error.code !== "EEXIST") throw error;
    if ((await lstat(bytePath(path))).isDirectory()) return;
    throw new ConflictError(`Cannot create folder ${JSON.stringify(path)}: a file or symlink with this name exists`);
  });
}

/** Writes a file atomically: writes a temporary file in the same folder, then renames it. */
export async function writeWhole(
  path: string,
  content: AsyncIterable<Uint8Array>,
  attributes: FileAttributes,
): Promise<void> {
  await putInPlace(path, async (temporary) => {
    const handle = await open(temporary, "wx", 0o600);
    try {
      for await (const chunk of content) await handle.writeFile(chunk);
      await handle.utimes(attributes.modifiedAt, attributes.modifiedAt);
      await handle.chmod(attributes.mode & PERMISSIONS);
    } finally {
      await handle.close();
    }
  });
}

async function putInPlace(path: string, make: (temporary: FSPath) => Promise<void>): Promise<void> {
  const temporary = bytePath(join(path, "..", `.hookbox-download-${randomUUID()}`));
  try {
    await make(temporary);
    await rename(temporary, bytePath(path));
  } catch (error) {
    await unlink(temporary).catch(() => {});
    const isFolder = await lstat(bytePath(path)).then((stats) => stats.isDirectory(), () => false);
    const isTaken = ["EISDIR", "ENOTEMPTY", "EEXIST", "EPERM"].includes((error as { code: string }).code);
    if (!isFolder || !isTaken) throw error;
    throw new ConflictError(`Cannot write ${JSON.stringify(path)}: a folder with this name exists`);
  }
}
