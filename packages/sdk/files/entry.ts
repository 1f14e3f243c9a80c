/** What the SDK says about a file, and how the runtime says it. @module */
import * as z from "zod";
import { joinPath } from "./paths.ts";

/** What is at a path in a sandbox. */
export interface Entry {
  /** The last part of its path; "." for the root. */
  name: string;
  /** As other calls take it: of a listing the folder's path as it was given, and what follows. */
  path: string;
  /** `other`: a socket, pipe or device. */
  type: "file" | "directory" | "symlink" | "other";
  /** Bytes. */
  size: number;
  /** Permission bits, such as `0o644`. */
  mode: number;
  modifiedAt: Date;
  /** Of a symlink: where it leads in the end, from the root on, whether something is there or not; absent where that is outside. */
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

/** Answer of `GET /v1/stat/{path}`. */
export const statSchema = entrySchema.extend({ path: z.string() });

/** Answer of `GET /v1/files/{folder}`. */
export const listingSchema = z.object({ entries: z.array(entrySchema) });

/** Answer of `GET /v1/disk`. */
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
  /** What may still be written: less than what is not used where the system keeps a reserve. */
  availableBytes: number;
  totalFiles: number;
  freeFiles: number;
}

/** Reads an entry of the wire. @param path for callers */
export function entryOf(
  { name, type, size, mode, modified_at, target }: z.infer<typeof entrySchema>,
  path: string,
): Entry {
  const permissions = Number.parseInt(mode, 8) & 0o777;
  const entry: Entry = { name, path, type, size, mode: permissions, modifiedAt: new Date(modified_at) };
  return target === undefined ? entry : { ...entry, target };
}

/** Reads the entries of a folder. */
export function entriesOf({ entries }: z.infer<typeof listingSchema>, folder: string): Entry[] {
  return entries.map((entry) => entryOf(entry, joinPath(folder, entry.name)));
}

/** Reads what the wire says of the disk. */
export function diskOf(disk: z.infer<typeof diskSchema>): Disk {
  return {
    totalBytes: disk.total_bytes,
    usedBytes: disk.used_bytes,
    availableBytes: disk.available_bytes,
    totalFiles: disk.total_files,
    freeFiles: disk.free_files,
  };
}
