/** Splits a stream into lines as they arrive, up to a maximum length. @module */
import type { Readable } from "node:stream";
import { createGathered } from "../../process/gathered.ts";

const NEWLINE = 10;

/** Calls `onLine` for each complete line. A line longer than `longest` bytes is truncated. */
export function readLines(stream: Readable, longest: number, onLine: (line: string) => void): void {
  const line = createGathered();
  const add = (part: Uint8Array) => {
    const room = longest - line.size();
    if (room > 0) line.add(part.subarray(0, room));
  };
  stream.on("error", () => {});
  stream.on("data", (bytes: Uint8Array) => {
    let from = 0;
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, from)) {
      add(bytes.subarray(from, end));
      onLine(line.takeText());
      from = end + 1;
    }
    if (from < bytes.length) add(bytes.subarray(from));
  });
}
