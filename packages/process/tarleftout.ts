/**
 * Records in a tar what is missing in it: a vendor record in a global pax header, which other programs ignore. Without
 * the record, a reader would consider the tar complete.
 * @module
 */
import { Buffer } from "node:buffer";
import { tarBlock } from "./tarblock.ts";

/** A file that is missing or incomplete. */
export interface LeftOut {
  /** In the form of the names in the tar. */
  path: string;
  reason: string;
}

const KEY = "HOOKBOX.leftout";

/** Returns the bytes of the record, which may be between any two entries. */
export function leftOutBlock({ path, reason }: LeftOut): Uint8Array {
  // JSON writes lone surrogates, which stand for bytes that are not UTF-8, in ASCII.
  const rest = ` ${KEY}=${JSON.stringify({ path, reason })}\n`;
  return tarBlock({ name: "pax_global_header", type: "g", magic: "ustar\x0000" }, Buffer.from(withLength(rest)));
}

/** The length of a record includes the digits of the length itself. */
function withLength(rest: string): string {
  const bytes = Buffer.byteLength(rest);
  const length = bytes + String(bytes + String(bytes).length).length;
  return `${length}${rest}`;
}

/** Reads the records of a global pax header; undefined: there is no such record. */
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
