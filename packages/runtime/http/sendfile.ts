/** Answers a request with a file or a range of it, as a stream, with headers for caches. @module */
import type { Context } from "hono";
import { refuse } from "./answers.ts";
import { modifiedOf } from "../files/entry.ts";
import { type OpenFile, partOf, sizeOf, streamOf } from "../files/read.ts";
import { parseRange } from "./range.ts";

/** Answers GET and HEAD, and closes the file. Only one chunk is in memory, whatever the size of the file. */
export async function sendFile(c: Context, file: OpenFile): Promise<Response> {
  const { handle } = file;
  const size = sizeOf(file);
  const headers = headersOf(file);
  const wanted = wantedRange(c, size, headers);
  if (wanted === "unchanged" || wanted === "unsatisfiable" || c.req.method === "HEAD") await handle.close();
  if (wanted === "unchanged") return new Response(null, { status: 304, headers });
  if (wanted === "unsatisfiable") {
    return refuse("OUT_OF_RANGE", "Cannot send the range: the file is shorter", { "Content-Range": `bytes */${size}` });
  }
  const { start, end } = wanted === "whole" ? { start: 0, end: size - 1 } : wanted;
  const length = end - start + 1;
  headers["Content-Length"] = `${length}`;
  if (wanted !== "whole") headers["Content-Range"] = `bytes ${start}-${end}/${size}`;
  const status = wanted === "whole" ? 200 : 206;
  if (c.req.method === "HEAD") return new Response(null, { status, headers });
  return new Response(streamOf(partOf(file, start, length)), { status, headers });
}

function headersOf({ stats, content }: OpenFile): Record<string, string> {
  const tag = `"${Math.round(stats.mtimeMs * 1000).toString(36)}-${stats.size.toString(36)}-${stats.ino.toString(36)}"`;
  // Files that the kernel generates can change without a new size or time, so they get no ETag.
  const isKnown = content === undefined || content.length === stats.size;
  return {
    "Content-Type": "application/octet-stream",
    "Accept-Ranges": "bytes",
    ...modifiedAt(modifiedOf(stats)),
    ...(isKnown ? { "ETag": tag } : {}),
  };
}

/** Returns headers with the modification time. Without `no-cache`, a browser would use its cached copy for a while. */
export function modifiedAt(time: Date): Record<"Last-Modified" | "Cache-Control", string> {
  return { "Last-Modified": time.toUTCString(), "Cache-Control": "no-cache" };
}

function wantedRange(c: Context, size: number, headers: Record<string, string>) {
  const tags = c.req.header("If-None-Match")?.split(",").map((tag) => tag.trim().replace(/^W\//, ""));
  if (tags?.some((tag) => tag === "*" || tag === headers["ETag"])) return "unchanged";
  const condition = c.req.header("If-Range");
  const applies = condition === undefined || condition === headers["ETag"] || condition === headers["Last-Modified"];
  return applies ? parseRange(c.req.header("Range"), size) : "whole";
}
