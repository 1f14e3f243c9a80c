/** Answers with a file: whole or a range, streamed, with what caches need. @module */
import type { Context } from "hono";
import type { Stats } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { refuse } from "./answers.ts";
import { readChunks, streamOf } from "../files/read.ts";
import { parseRange } from "./range.ts";

/** A file that is open for reading. */
interface OpenFile {
  stats: Stats;
  handle: FileHandle;
}

/** Answers GET and HEAD; closes the file. Memory holds one chunk, whatever the size. */
export async function sendFile(c: Context, { stats, handle }: OpenFile): Promise<Response> {
  const headers = headersOf(stats);
  const wanted = wantedRange(c, stats, headers);
  if (wanted === "unchanged" || wanted === "unsatisfiable" || c.req.method === "HEAD") await handle.close();
  if (wanted === "unchanged") return new Response(null, { status: 304, headers });
  if (wanted === "unsatisfiable") {
    return refuse("OUT_OF_RANGE", "Cannot send the range: the file is shorter", {
      "Content-Range": `bytes */${stats.size}`,
    });
  }
  const { start, end } = wanted === "whole" ? { start: 0, end: stats.size - 1 } : wanted;
  const length = end - start + 1;
  headers["Content-Length"] = `${length}`;
  if (wanted !== "whole") headers["Content-Range"] = `bytes ${start}-${end}/${stats.size}`;
  const status = wanted === "whole" ? 200 : 206;
  if (c.req.method === "HEAD") return new Response(null, { status, headers });
  return new Response(streamOf(readChunks(handle, start, length)), { status, headers });
}

function headersOf(stats: Stats): Record<string, string> {
  return {
    "Content-Type": "application/octet-stream",
    "Accept-Ranges": "bytes",
    ...modifiedAt(stats.mtime),
    "ETag": `"${Math.round(stats.mtimeMs * 1000).toString(36)}-${stats.size.toString(36)}-${stats.ino.toString(36)}"`,
  };
}

/** The headers that say when something was changed. A browser that knows only that takes it for unchanged for a while. */
export function modifiedAt(time: Date): Record<"Last-Modified" | "Cache-Control", string> {
  return { "Last-Modified": time.toUTCString(), "Cache-Control": "no-cache" };
}

function wantedRange(c: Context, stats: Stats, headers: Record<string, string>) {
  const tags = c.req.header("If-None-Match")?.split(",").map((tag) => tag.trim().replace(/^W\//, ""));
  if (tags?.some((tag) => tag === "*" || tag === headers["ETag"])) return "unchanged";
  const condition = c.req.header("If-Range");
  const applies = condition === undefined || condition === headers["ETag"] || condition === headers["Last-Modified"];
  return applies ? parseRange(c.req.header("Range"), stats.size) : "whole";
}
