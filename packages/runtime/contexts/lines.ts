/** Splits a stream into lines as they come; it must not keep a line that grows without end. @module */
import { Buffer } from "node:buffer";
import type { Readable } from "node:stream";

const NEWLINE = 10;

/** Calls `onLine` for each whole line; a line of more than `longest` bytes comes cut off there, and the rest is lost. */
export function readLines(stream: Readable, longest: number, onLine: (line: string) => void): void {
  let parts: Uint8Array[] = [];
  let length = 0;
  const add = (part: Uint8Array) => {
    const room = Math.max(0, longest - length);
    if (room > 0) parts.push(part.subarray(0, room));
    length += part.length;
  };
  stream.on("error", () => {});
  stream.on("data", (bytes: Uint8Array) => {
    let from = 0;
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, from)) {
      add(bytes.subarray(from, end));
      onLine(Buffer.concat(parts).toString("utf8"));
      parts = [];
      length = 0;
      from = end + 1;
    }
    if (from < bytes.length) add(bytes.subarray(from));
  });
}
