/** What clients note about a file: from headers of the upload to extended attributes, and back. @module */
import type { IncomingHttpHeaders } from "node:http";
import type { FSPath } from "../../../process/bytepaths.ts";
import { Refused } from "../../files/refused.ts";
import { readAttributes, writeAttributes } from "../../files/xattrs.ts";

/** What is noted, by key in lower case. */
export type Metadata = Record<string, string>;

const PREFIX = "user.e2b.";
const HEADER = "x-metadata-";
/** Longest key, which with the prefix is as long as the name of an attribute may be. */
const KEY_BYTES = 246;
const ALL_BYTES = 4096;
const PRINTABLE = /^[\x20-\x7e]*$/;

/** Reads the headers `X-Metadata-{key}` of an upload. @throws {Refused} INVALID_ARGUMENT if they are too long, or not printable ASCII */
export function metadataIn(headers: IncomingHttpHeaders): Metadata {
  const metadata: Metadata = {};
  let bytes = 0;
  for (const [header, value] of Object.entries(headers)) {
    if (!header.startsWith(HEADER)) continue;
    const key = header.slice(HEADER.length);
    const text = String(value);
    bytes += key.length + text.length;
    if (key === "" || key.length > KEY_BYTES) throw refusal(`key "${key}" must have 1 to ${KEY_BYTES} bytes`);
    if (!PRINTABLE.test(text)) throw refusal(`the value of "${key}" must be printable ASCII`);
    metadata[key] = text;
  }
  if (bytes > ALL_BYTES) throw refusal(`all keys and values must have at most ${ALL_BYTES} bytes`);
  return metadata;
}

function refusal(why: string): Refused {
  return new Refused("INVALID_ARGUMENT", `Cannot use the metadata: ${why}`);
}

/** Reads what is noted about a file. Symlinks have nothing. */
export function metadataOf(at: FSPath): Metadata {
  return typeof at === "string" ? readAttributes(at, PREFIX) : {};
}

/** Notes it about an open file, which has nothing yet. A file system without attributes keeps nothing. */
export function noteMetadata(descriptor: number, metadata: Metadata): void {
  writeAttributes(`/proc/self/fd/${descriptor}`, PREFIX, metadata);
}
