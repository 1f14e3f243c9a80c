/** Describes a file for the API: name, type, size, time, mode. @module */
import type { Stats } from "node:fs";

/** `symlink`: a symlink that leads nowhere or was not followed. `other`: a socket, pipe or device. */
export type EntryType = "file" | "directory" | "symlink" | "other";

/** A file in the response of `GET /v1/files/{folder}`. */
export interface Entry {
  name: string;
  /** Size in bytes. */
  size: number;
  type: EntryType;
  /** RFC 3339, in UTC. */
  modified_at: string;
  /** Permission bits as four octal digits: `0644`. */
  mode: string;
}

/** Describes a file under this name. */
export function entryOf(name: string, stats: Stats): Entry {
  return {
    name,
    size: stats.size,
    type: typeOf(stats),
    modified_at: modifiedOf(stats).toISOString(),
    mode: modeText(stats.mode),
  };
}

/** The years 0 to 9999, in milliseconds since the epoch. */
const WRITABLE_MS = { first: Date.parse("0000-01-01"), last: Date.parse("9999-12-31T23:59:59Z") };

/**
 * Returns the modification time. A time that RFC 3339 cannot express is replaced by the nearest one, because some file
 * systems allow any time.
 */
export function modifiedOf({ mtimeMs }: Stats): Date {
  return new Date(Math.min(WRITABLE_MS.last, Math.max(WRITABLE_MS.first, mtimeMs)));
}

function typeOf(stats: Stats): EntryType {
  if (stats.isFile()) return "file";
  if (stats.isDirectory()) return "directory";
  return stats.isSymbolicLink() ? "symlink" : "other";
}

function modeText(mode: number): string {
  return `0${(mode & 0o777).toString(8).padStart(3, "0")}`;
}

const MODE = /^0[0-7]{3}$/;

/** Parses four octal digits as permission bits; undefined if the text is invalid. */
export function parseMode(text: string): number | undefined {
  return MODE.test(text) ? Number.parseInt(text, 8) : undefined;
}
