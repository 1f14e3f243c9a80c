/**
 * Stores modification times in a tar that the field for the time cannot hold: before 1970, and from 2038 on, where
 * tar-stream is wrong.
 * @module
 */
import type { Header } from "tar-stream";

/** Largest number of seconds since 1970 that tar-stream writes correctly. */
const MOST_SECONDS = 2 ** 31 - 1;

/** Moves such a time to a pax record, as GNU tar and Python do. */
export function dated<T extends Partial<Header>>(header: T): T {
  const seconds = (header.mtime?.getTime() ?? 0) / 1000;
  if (seconds >= 0 && seconds <= MOST_SECONDS) return header;
  return { ...clamped(header), pax: { mtime: String(seconds) } };
}

/** Replaces a time that tar-stream cannot write by the nearest one that it can. */
export function clamped<T extends Partial<Header>>(header: T): T {
  const seconds = (header.mtime?.getTime() ?? 0) / 1000;
  return { ...header, mtime: new Date(Math.min(Math.max(seconds, 0), MOST_SECONDS) * 1000) };
}

/** Returns the time in a header; undefined: none that a file can have. */
export function dateOf({ mtime, pax }: Pick<Header, "mtime" | "pax">): Date | undefined {
  const seconds = Number.parseFloat((pax as Record<string, string> | null | undefined)?.["mtime"] ?? "");
  const told = new Date(seconds * 1000);
  return [told, mtime].find((date) => date !== undefined && !Number.isNaN(date.getTime()));
}
