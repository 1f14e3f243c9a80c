/** Describes files of a sandbox: their entries in the runtime's responses, and their paths in URLs. @module */
import * as z from "zod";
import { encodeName } from "../../process/filenames.ts";
import { InvalidArgumentError } from "../errors.ts";

/** A file, folder or symlink in a sandbox. */
export interface Entry {
  /** The last part of its path; "." for the root of a confined runtime. */
  name: string;
  /** A path that other calls accept. In a listing, it starts with the folder's path as the caller wrote it. */
  path: string;
  /** `other` means a socket, a pipe or a device. */
  type: "file" | "directory" | "symlink" | "other";
  /** Size in bytes. */
  size: number;
  /** Permission bits, such as `0o644`. */
  mode: number;
  modifiedAt: Date;
  /**
   * Only for symlinks: the path of the file or folder that the symlink finally leads to. That file need not exist. Absent
   * if the symlink cannot be followed, or leads out of a confined root.
   */
  target?: string;
}

const TYPES = ["file", "directory", "symlink", "other"] as const;

const entrySchema = z.object({
  name: z.string(),
  type: z.enum(TYPES),
  size: z.number(),
  mode: z.string().regex(/^[0-7]{1,5}$/),
  modified_at: z.iso.datetime(),
  target: z.string().optional(),
});

/** Response of `GET /v1/stat/{path}`. @internal */
export const statSchema = entrySchema.extend({ path: z.string() });

/** Response of `GET /v1/files/{folder}`. @internal */
export const listingSchema = z.object({ entries: z.array(entrySchema) });

/** Response of `GET /v1/disk`. @internal */
export const diskSchema = z.object({
  total_bytes: z.number(),
  used_bytes: z.number(),
  available_bytes: z.number(),
  total_files: z.number(),
  free_files: z.number(),
});

/** How full the disk of a sandbox is. */
export interface Disk {
  totalBytes: number;
  usedBytes: number;
  /** Bytes that can still be written. Less than the unused bytes if the system keeps a reserve. */
  availableBytes: number;
  totalFiles: number;
  freeFiles: number;
}

/** Converts an entry of the runtime's response. @param path path of the entry for the caller @internal */
export function entryOf(
  { name, type, size, mode, modified_at, target }: z.infer<typeof entrySchema>,
  path: string,
): Entry {
  const permissions = Number.parseInt(mode, 8) & 0o777;
  const entry: Entry = { name, path, type, size, mode: permissions, modifiedAt: new Date(modified_at) };
  return target === undefined ? entry : { ...entry, target };
}

/** Converts the entries of a folder. @internal */
export function entriesOf({ entries }: z.infer<typeof listingSchema>, folder: string): Entry[] {
  return entries.map((entry) => entryOf(entry, joinPath(folder, entry.name)));
}

/** Converts the runtime's description of the disk. @internal */
export function diskOf(disk: z.infer<typeof diskSchema>): Disk {
  return {
    totalBytes: disk.total_bytes,
    usedBytes: disk.used_bytes,
    availableBytes: disk.available_bytes,
    totalFiles: disk.total_files,
    freeFiles: disk.free_files,
  };
}

/**
 * Returns the URL path of a request to `/v1/<endpoint>/{path}`.
 *
 * @throws {@link InvalidArgumentError} if a URL cannot contain the path
 */
export function endpointPath(endpoint: string, path: string, query: Record<string, string | undefined> = {}): string {
  const given = Object.entries(query).filter((pair): pair is [string, string] => pair[1] !== undefined);
  const search = given.length === 0 ? "" : `?${new URLSearchParams(given)}`;
  return `/v1/${endpoint}/${encodedPath(path)}${search}`;
}

function encodedPath(path: string): string {
  if (path === "." || path === "./") return "";
  try {
    // The path is one URL segment, with encoded slashes. Otherwise URL parsers would change ".." and "a//b".
    return encodeName(path === ".." ? "./.." : path);
  } catch {
    throw new InvalidArgumentError(`Cannot use the path ${JSON.stringify(path)}: it is not Unicode text`);
  }
}

/** Appends a name to the path of a folder. */
export function joinPath(folder: string, name: string): string {
  // Alone, it would mean the home directory.
  if (folder === "" || folder === "." || folder === "./") return name === "~" ? "./~" : name;
  return folder.endsWith("/") ? folder + name : `${folder}/${name}`;
}

/** Returns the last part of a path; "" for the working directory, the home directory and `/`. */
export function nameOf(path: string): string {
  const trimmed = path.replace(/\/+$/, "");
  const name = trimmed.split("/").at(-1) ?? "";
  return name === "." || trimmed === "~" ? "" : name;
}

/** Returns the path of the parent folder; "" for the working directory and for names directly below it. */
export function folderOf(path: string): string {
  return path.replace(/\/+$/, "").split("/").slice(0, -1).join("/") || (/^\/+[^/]/.test(path) ? "/" : "");
}
