/** Writes and reads what tar-stream cannot: names that are not UTF-8, times outside of 1970 to 2038, records of missing files. @module */
import { Buffer } from "node:buffer";
import { extract, type Header } from "tar-stream";
import { bytesOfName, isEscaped, textOfName } from "./filenames.ts";

/** A name that is cut to this many bytes fits into any header. */
const PLAIN = 90;

/** A header for tar-stream, and the bytes to write before it. */
interface PreparedHeader<T> {
  header: T;
  /** Long names as GNU tar writes them before a header; empty if all names are UTF-8. */
  before: Uint8Array;
}

/** Prepares a header whose names may not be UTF-8, and whose time may be in any year. */
export function prepareHeader<T extends Partial<Header> & { name: string }>(header: T): PreparedHeader<T> {
  const { name, linkname } = header;
  if (!isEscaped(name) && !isEscaped(linkname ?? "")) return { header: withTime(header), before: new Uint8Array() };
  const before = [longName("L", name), ...linkname ? [longName("K", linkname)] : []];
  // A pax record for the time would also contain the plain name, which takes precedence over the long one.
  const plain = {
    ...withClampedTime(header),
    name: plainName(name),
    ...linkname ? { linkname: plainName(linkname) } : {},
  };
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

/** Largest number of seconds since 1970 that tar-stream writes correctly. */
const MOST_SECONDS = 2 ** 31 - 1;

/** Moves such a time to a pax record, as GNU tar and Python do. */
function withTime<T extends Partial<Header>>(header: T): T {
  const seconds = (header.mtime?.getTime() ?? 0) / 1000;
  if (seconds >= 0 && seconds <= MOST_SECONDS) return header;
  return { ...withClampedTime(header), pax: { mtime: String(seconds) } };
}

/** Replaces a time that tar-stream cannot write by the nearest one that it can. */
function withClampedTime<T extends Partial<Header>>(header: T): T {
  const seconds = (header.mtime?.getTime() ?? 0) / 1000;
  return { ...header, mtime: new Date(Math.min(Math.max(seconds, 0), MOST_SECONDS) * 1000) };
}

/** Returns the time in a header; undefined: none that a file can have. */
export function dateOf({ mtime, pax }: Pick<Header, "mtime" | "pax">): Date | undefined {
  const seconds = Number.parseFloat((pax as Record<string, string> | null | undefined)?.["mtime"] ?? "");
  const told = new Date(seconds * 1000);
  return [told, mtime].find((date) => date !== undefined && !Number.isNaN(date.getTime()));
}

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
function leftOutOf(records: Record<string, string>): LeftOut | undefined {
  const text = records[KEY];
  if (text === undefined) return undefined;
  try {
    const { path, reason } = JSON.parse(text) as Partial<LeftOut>;
    return typeof path === "string" && typeof reason === "string" ? { path, reason } : undefined;
  } catch {
    return undefined;
  }
}

const BLOCK = 512;

/** The header of an entry. */
interface BlockHeader {
  /** At most 99 characters of ASCII. */
  name: string;
  /** One character. */
  type: string;
  /** Format and version: `ustar\0` and `00` as in POSIX, or GNU's. */
  magic: string;
}

/** Returns header and content, padded to whole blocks. Source: POSIX, pax, "ustar Interchange Format". */
function tarBlock({ name, type, magic }: BlockHeader, content: Buffer): Buffer {
  const block = Buffer.alloc(BLOCK);
  block.write(name);
  block.write("0000644\0" + "0000000\0".repeat(2), 100);
  block.write(`${content.length.toString(8).padStart(11, "0")}\0${"0".repeat(11)}\0`, 124);
  block.write(`        ${type}`, 148);
  block.write(magic, 257);
  const sum = block.reduce((sum, byte) => sum + byte, 0);
  block.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return Buffer.concat([block, content, Buffer.alloc(-content.length & (BLOCK - 1))]);
}
