/**
 * What a tar says of things that are not in it: a record of a vendor in a global pax header, which other programs ignore.
 * Without it a reader would take the tar for whole. @module
 */
import { Buffer } from "node:buffer";
import { tarBlock } from "./tarblock.ts";

/** Something that is missing, or not whole. */
export interface LeftOut {
  /** As the names in the tar are. */
  path: string;
  reason: string;
}

const KEY = "HOOKBOX.leftout";

/** Returns the bytes that say it; they may stand between any two entries. */
export function leftOutBlock({ path, reason }: LeftOut): Uint8Array {
  // JSON writes lone surrogates, which stand for bytes that are not UTF-8, in ASCII.
  const rest = ` ${KEY}=${JSON.stringify({ path, reason })}\n`;
  return tarBlock({ name: "pax_global_header", type: "g", magic: "ustar\x0000" }, Buffer.from(withLength(rest)));
}

/** The length of a record counts its own digits. */
function withLength(rest: string): string {
  const bytes = Buffer.byteLength(rest);
  const length = bytes + String(bytes + String(bytes).length).length;
  return `${length}${rest}`;
}

/** Reads the records of a global pax header; undefined: it says nothing of this. */
export function leftOutOf(records: Record<string, string>): LeftOut | undefined {
  const text = records[KEY];
  if (text === undefined) return undefined;
  try {
    const { path, reason } = JSON.parse(text) as Partial<LeftOut>;
    return typeof path === "string" && typeof reason === "string" ? { path, reason } : undefined;
  } catch {
    return undefined;
  }
}
