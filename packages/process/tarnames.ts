/** Writes and reads names in a tar that are not UTF-8 (see filenames.ts), which tar-stream does not support. @module */
import { Buffer } from "node:buffer";
import { extract, type Header } from "tar-stream";
import { bytesOfName, isEscaped, textOfName } from "./filenames.ts";
import { tarBlock } from "./tarblock.ts";
import { type LeftOut, leftOutOf } from "./tarleftout.ts";
import { clamped, dated } from "./tardates.ts";

/** A name that is cut to this many bytes fits into any header. */
const PLAIN = 90;

/** A header for tar-stream, and the bytes to write before it. */
export interface Named<T> {
  header: T;
  /** Long names as GNU tar writes them before a header; empty if all names are UTF-8. */
  before: Uint8Array;
}

/** Prepares a header whose names may not be UTF-8, and whose time may be in any year. */
export function named<T extends Partial<Header> & { name: string }>(header: T): Named<T> {
  const { name, linkname } = header;
  if (!isEscaped(name) && !isEscaped(linkname ?? "")) return { header: dated(header), before: new Uint8Array() };
  const before = [longName("L", name), ...linkname ? [longName("K", linkname)] : []];
  // A pax record for the time would also contain the plain name, which takes precedence over the long one.
  const plain = { ...clamped(header), name: plainName(name), ...linkname ? { linkname: plainName(linkname) } : {} };
  return { header: plain, before: Buffer.concat(before) };
}

/** Returns the name for readers that do not support long names. */
function plainName(name: string): string {
  const folder = name.endsWith("/") ? "/" : "";
  return name.replace(/[^\x20-\x7e]/gu, "?").slice(0, PLAIN).replace(/\/+$/, "") + folder;
}

/**
 * Returns an entry with a long name. Source: GNU tar, "Basic Tar Format", OLDGNU_MAGIC, GNUTYPE_LONGNAME and
 * GNUTYPE_LONGLINK.
 */
function longName(type: "L" | "K", name: string): Buffer {
  const content = Buffer.concat([bytesOfName(name), Buffer.alloc(1)]);
  return tarBlock({ name: "././@LongLink", type, magic: "ustar  \0" }, content);
}

/** Private members of tar-stream 3.2.2, which package.json pins. */
interface Inner {
  _header: Header;
  _pax: Record<string, string> | null;
  _paxGlobal: Record<string, string> | null;
  _decodeLongHeader(bytes: Uint8Array): void;
}

/**
 * Creates a reader of a tar; {@link namesOf} decodes the names in its headers.
 *
 * @param onLeftOut called for each record of something that is missing in the tar
 */
export function extractNames(onLeftOut: (one: LeftOut) => void = () => {}): ReturnType<typeof extract> {
  // In latin1 each byte is one character, so no byte is lost.
  const options = { filenameEncoding: "latin1" };
  const tar = extract(options as Parameters<typeof extract>[0]);
  const inner = tar as unknown as Inner;
  const decode = inner._decodeLongHeader.bind(tar);
  inner._decodeLongHeader = (bytes) => {
    decode(bytes);
    const leftOut = leftOutOf(inner._paxGlobal ?? {});
    // The record belongs to no entry.
    if (leftOut) inner._paxGlobal = null;
    if (leftOut) onLeftOut(leftOut);
    if (String(inner._header.type) === "pax-header" && inner._pax) Object.assign(inner._pax, paxNames(bytes));
  };
  return tar;
}

/** Returns the names in a pax header. They should be UTF-8, but GNU tar and Python write the bytes as they are. */
function paxNames(bytes: Uint8Array): Record<string, string> {
  const text = Buffer.from(bytes).toString("latin1");
  const names: Record<string, string> = {};
  for (let at = 0; at < text.length;) {
    const length = Number.parseInt(text.slice(at), 10);
    if (!(length > 0)) break;
    const [, key = "", value = ""] = /^\d+ ([^=]*)=([\s\S]*)\n$/.exec(text.slice(at, at + length)) ?? [];
    if (key === "path" || key === "linkpath") names[key] = textOfName(Buffer.from(value, "latin1"));
    at += length;
  }
  return names;
}

/** Decodes the names in a header that {@link extractNames} has read. */
export function namesOf({ name, linkname, pax }: Header): { name: string; linkname: string | undefined } {
  const given = (pax ?? {}) as Record<string, string>;
  const read = (text: string) => textOfName(Buffer.from(text, "latin1"));
  return {
    name: given["path"] ? name : read(name),
    linkname: typeof linkname !== "string" || given["linkpath"] ? linkname ?? undefined : read(linkname),
  };
}
