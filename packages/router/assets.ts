/** Serves the files of the router's own pages, with gzip if the browser accepts it. @module */
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createRequire } from "node:module";
import { extname } from "node:path";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { SAFE } from "./safeheaders.ts";

/** File names in URLs, and where the files are: a URL, or a module specifier for files of a package. */
export type Files = Readonly<Record<string, URL | string>>;

/** A file, both plain and compressed. */
export interface Asset {
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
 * Makes a function that returns a file by its name, or undefined if no file has it. A file is read at its first use.
 */
export function createAssets(files: Files): (name: string) => Promise<Asset> | undefined {
  const { resolve } = createRequire(import.meta.url);
  const read = new Map<string, Promise<Asset>>();
  return (name) => {
    const file = Object.hasOwn(files, name) ? files[name] : undefined;
    if (!file) return undefined;
    const asset = read.get(name) ?? assetOf(typeof file === "string" ? resolve(file) : file);
    read.set(name, asset);
    return asset;
  };
}

async function assetOf(path: URL | string): Promise<Asset> {
  const plain = await readFile(path);
  const etag = `W/"${createHash("sha256").update(plain).digest("base64url").slice(0, 22)}"`;
  const type = TYPES[extname(String(path))] ?? "application/octet-stream";
  return { type, etag, plain, gzipped: await promisify(gzip)(plain) };
}

/** Sends the file, or status 304 if the browser has it. @param more further headers, such as a page's policy */
export function sendAsset(
  { method, headers }: IncomingMessage,
  response: ServerResponse,
  asset: Asset,
  more: Record<string, string> = {},
): void {
  const { type, etag, plain, gzipped } = asset;
  // After an update, an old file does not work together with a new one: browsers must check each file again.
  const caching = { ETag: etag, "Cache-Control": "private, no-cache", Vary: "Accept-Encoding", ...SAFE, ...more };
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
