/** Modification times in a tar that its own field cannot hold: before 1970, and from 2038 on, where tar-stream errs. Pure. @module */
import type { Header } from "tar-stream";

/** Seconds since 1970 that tar-stream writes as they are. */
const MOST_SECONDS = 2 ** 31 - 1;

/** Puts such a time into a pax record, as GNU tar and Python do. */
export function dated<T extends Partial<Header>>(header: T): T {
  const seconds = (header.mtime?.getTime() ?? 0) / 1000;
  if (seconds >= 0 && seconds <= MOST_SECONDS) return header;
  return { ...clamped(header), pax: { mtime: String(seconds) } };
}

/** Puts the nearest time that tar-stream can write in the place of one that it cannot. */
export function clamped<T extends Partial<Header>>(header: T): T {
  const seconds = (header.mtime?.getTime() ?? 0) / 1000;
  return { ...header, mtime: new Date(Math.min(Math.max(seconds, 0), MOST_SECONDS) * 1000) };
}

/** Returns the time that a header tells; undefined: none that a file can have. */
export function dateOf({ mtime, pax }: Pick<Header, "mtime" | "pax">): Date | undefined {
  const seconds = Number.parseFloat((pax as Record<string, string> | null | undefined)?.["mtime"] ?? "");
  const told = new Date(seconds * 1000);
  return [told, mtime].find((date) => date !== undefined && !Number.isNaN(date.getTime()));
}
