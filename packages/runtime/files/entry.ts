/** What the wire says about a file: name, type, size, time, mode. Reads nothing itself. @module */
import type { Stats } from "node:fs";

/** `symlink` stands for one that leads nowhere or was not followed; `other` for sockets, pipes and devices. */
export type EntryType = "file" | "directory" | "symlink" | "other";

/** A file as `GET /v1/files/{folder}` lists it. */
export interface Entry {
  name: string;
  /** Bytes. */
  size: number;
  type: EntryType;
  /** RFC 3339, UTC. */
  modified_at: string;
  /** Permission bits as four octal digits: `0644`. */
  mode: string;
}

/** Describes the file `name`. */
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

/** When the file was changed; the nearest time that RFC 3339 can write, as some file systems keep any. */
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

/** Reads permission bits from four octal digits; undefined where the text is none. */
export function parseMode(text: string): number | undefined {
  return MODE.test(text) ? Number.parseInt(text, 8) : undefined;
}
