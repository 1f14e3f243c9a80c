/** Sends the router's own answers: refusals, redirects and the files of its pages. @module */
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerResponse } from "node:http2";
import { createRequire } from "node:module";
import { extname } from "node:path";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { DISCARD_MS } from "../process/connections.ts";
import { e2bAnswer, OPEN_TO_PAGES } from "./e2b/request.ts";
import { grpcFormOf, grpcRefusal } from "./proxy/grpcform.ts";
import { cutOff, endRequest, forgetHead, isHttp2 } from "./proxy/versions.ts";
import type { Refusal } from "./refusal.ts";

/**
 * Answers `{"detail": …}`, with `remedy` if there is one. If another answer has begun, closes the connection so that the
 * client sees an incomplete answer.
 */
export function sendRefusal(request: IncomingMessage, response: ServerResponse, refusal: Refusal): void {
  if (response.headersSent) {
    cutOff(response);
    return;
  }
  if (grpcFormOf(request)?.kind === "native") return sendGrpcRefusal(request, response, refusal);
  forgetHead(request, response);
  const ofE2B = e2bAnswer(request, refusal);
  const { status, body: content } = ofE2B ?? {
    status: refusal.status,
    body: { detail: refusal.detail, remedy: refusal.remedy },
  };
  const body = Buffer.from(JSON.stringify(content));
  response.writeHead(status, {
    "Content-Type": "application/json",
    "Content-Length": body.length,
    "Cache-Control": "no-store",
    ...SAFE_HEADERS,
    ...refusal.headers,
    ...ofE2B ? OPEN_TO_PAGES : {},
    // Without "100 Continue", a client may send its body or not, so the next request cannot be found in the stream.
    ...(request.headers.expect !== undefined && !isHttp2(request) ? { Connection: "close" } : {}),
  });
  response.end(body);
  discard(request);
}

/** Sends the cause in the headers, which are the whole answer: gRPC clients do not show a body. */
function sendGrpcRefusal(request: IncomingMessage, response: ServerResponse, refusal: Refusal): void {
  const { stream } = response as unknown as Http2ServerResponse;
  // Not sent: this status is for the log and the metrics.
  response.statusCode = refusal.status;
  stream?.respond(
    { ":status": 200, ...SAFE_HEADERS, ...refusal.headers, ...grpcRefusal(refusal.status, refusal.detail) },
    { endStream: true },
  );
  discard(request);
}

/** Redirects a browser and sets a cookie. */
export function sendRedirect(
  response: ServerResponse,
  { location, cookie }: { location: string; cookie: string },
): void {
  response.writeHead(303, {
    Location: location,
    "Set-Cookie": cookie,
    "Content-Length": 0,
    "Cache-Control": "no-store",
    ...SAFE_HEADERS,
  });
  response.end();
}

/** Reads and drops the rest of a request for a while, then closes its connection or HTTP/2 stream. */
export function discard(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return;
  request.resume();
  const timer = setTimeout(() => endRequest(request), DISCARD_MS);
  request.once("close", () => clearTimeout(timer));
}

/** File names in URLs, and where the files are: a URL, or a module specifier for files of a package. */
export type PageFiles = Readonly<Record<string, URL | string>>;

/** A file, both plain and compressed. */
interface PageFile {
  type: string;
  /** A weak ETag, because the plain and the compressed file share it. */
  etag: string;
  plain: Buffer;
  gzipped: Buffer;
}

const TYPES: Record<string, string> = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".mjs": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
};

/**
 * Creates a function that returns a file by its name, or undefined if no file has this name. The function reads a file
 * when it is requested for the first time.
 */
export function createPageFiles(files: PageFiles): (name: string) => Promise<PageFile> | undefined {
  const { resolve } = createRequire(import.meta.url);
  const pending = new Map<string, Promise<PageFile>>();
  return (name) => {
    const place = Object.hasOwn(files, name) ? files[name] : undefined;
    if (!place) return undefined;
    const file = pending.get(name) ?? readPageFile(typeof place === "string" ? resolve(place) : place);
    pending.set(name, file);
    return file;
  };
}

async function readPageFile(path: URL | string): Promise<PageFile> {
  const plain = await readFile(path);
  const etag = `W/"${createHash("sha256").update(plain).digest("base64url").slice(0, 22)}"`;
  const type = TYPES[extname(String(path))] ?? "application/octet-stream";
  return { type, etag, plain, gzipped: await promisify(gzip)(plain) };
}

/** Sends the file, or status 304 if the browser has it. @param more further headers, such as a page's policy */
export function sendPageFile(
  { method, headers }: IncomingMessage,
  response: ServerResponse,
  file: PageFile,
  more: Record<string, string> = {},
): void {
  const { type, etag, plain, gzipped } = file;
  // After an update, an old file does not work together with a new one: browsers must check each file again.
  const caching = {
    ETag: etag,
    "Cache-Control": "private, no-cache",
    Vary: "Accept-Encoding",
    ...SAFE_HEADERS,
    ...more,
  };
  if (headers["if-none-match"]?.includes(etag)) return void response.writeHead(304, caching).end();
  const isGzipped = /\bgzip\b(?!\s*;\s*q=0)/.test(headers["accept-encoding"]?.toString() ?? "");
  const body = isGzipped ? gzipped : plain;
  response.writeHead(200, {
    "Content-Type": type,
    "Content-Length": body.length,
    ...(isGzipped ? { "Content-Encoding": "gzip" } : {}),
    ...caching,
  });
  response.end(method === "HEAD" ? undefined : body);
}

/**
 * Other origins cannot read an answer with these headers, and browsers do not send its address, which may contain a
 * token, as a referrer.
 */
export const SAFE_HEADERS = {
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "no-referrer",
  "Cross-Origin-Resource-Policy": "same-origin",
};
