/** Responses of port 8080: errors as `{code, message}` without internal paths, and files or ranges of them. @module */
import type { Context } from "hono";
import { errorFields, type Log } from "../../process/log.ts";
import { codeOf } from "../confine.ts";
import { modifiedOf } from "../files/list.ts";
import { type OpenFile, partOf, sizeOf, streamOf } from "../files/read.ts";
import { type RefusalCode, type Refused, refusedFor } from "../files/refused.ts";

const STATUS = {
  INVALID_ARGUMENT: 400,
  UNAUTHENTICATED: 401,
  PERMISSION_DENIED: 403,
  NOT_FOUND: 404,
  UNIMPLEMENTED: 405,
  CONFLICT: 409,
  RESOURCE_EXHAUSTED: 413,
  OUT_OF_RANGE: 416,
  INTERNAL: 500,
  UNAVAILABLE: 503,
} as const satisfies Record<RefusalCode, number>;

/** Returns the HTTP status of an error. */
export function statusOf({ code }: Pick<Refused, "code">): number {
  return STATUS[code];
}

/** Creates an error response. */
export function refuse(code: RefusalCode, message: string, headers: Record<string, string> = {}): Response {
  return Response.json({ code, message }, { status: STATUS[code], headers });
}

/** Answers an error. Internal errors are logged, and the caller gets only a general message. */
export function answerError(error: unknown, c: Context, log: Log): Response {
  const refused = refusedFor(error, wantedOf(c));
  if (refused) return refuse(refused.code, refused.message);
  logFault(error, c, log);
  return refuse("INTERNAL", "Cannot answer: internal error, see the runtime's log");
}

/** Logs an internal error. A client that disconnected is logged only at level debug. */
export function logFault(error: unknown, c: Context, log: Log): void {
  const level = codeOf(error) === "ECONNRESET" ? "debug" : "error";
  log(level, "Request failed", { method: c.req.method, path: c.req.path, ...errorFields(error) });
}

/** Returns the path in the caller's request, for messages. */
function wantedOf(c: Context): string {
  const encoded = c.req.path.replace(/^\/v1\/[a-z]+\/?/, "");
  try {
    return decodeURIComponent(encoded);
  } catch {
    return encoded;
  }
}

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
  // Only without tags, which are more precise. Both times have whole seconds.
  const since = tags ? NaN : Date.parse(c.req.header("If-Modified-Since") ?? "");
  if (Date.parse(headers["Last-Modified"] ?? "") <= since && headers["ETag"]) return "unchanged";
  const condition = c.req.header("If-Range");
  const applies = condition === undefined || condition === headers["ETag"] || condition === headers["Last-Modified"];
  return applies ? parseRange(c.req.header("Range"), size) : "whole";
}

/** A range of bytes, including `end`. */
interface ByteRange {
  start: number;
  end: number;
}

const ONE_RANGE = /^bytes=\s*(\d*)-(\d*)\s*$/i;

/**
 * Returns the range to send. `whole`: there is no header, or it is malformed or contains several ranges; in the last
 * case, a server may send everything. `unsatisfiable`: the file has no byte in the range.
 */
function parseRange(header: string | undefined, size: number): ByteRange | "whole" | "unsatisfiable" {
  const [, first, last] = ONE_RANGE.exec(header ?? "") ?? [];
  if (first === undefined || last === undefined || (first === "" && last === "")) return "whole";
  if (first === "") {
    const length = Math.min(Number(last), size);
    return length === 0 ? "unsatisfiable" : { start: size - length, end: size - 1 };
  }
  const start = Number(first);
  const end = last === "" ? size - 1 : Math.min(Number(last), size - 1);
  if (last !== "" && Number(last) < start) return "whole";
  return start >= size ? "unsatisfiable" : { start, end };
}
