/** Turns the heads of requests that come over a page's WebSocket into those of ordinary requests, and answers' into what the page gets. @module */
import type { IncomingMessage } from "node:http";
import * as z from "zod";
import type { RequestHead } from "../../api/router/multiplex.ts";
import { hostOf } from "../destination.ts";
import { type Refusal, unauthorized } from "../refusal.ts";

const NOT_ALLOWED: Refusal = {
  status: 403,
  detail: "Over this connection, requests go to the dashboard's API, or name a sandbox by X-Sandbox-ID.",
};
export const BAD_HEAD: Refusal = { status: 400, detail: "Invalid request path or headers." };
const API = "/.hookbox/api/";
const BEARER = /^Bearer +\S/i;
/** A page cannot set these headers with `fetch`, or the router takes them from the request for the WebSocket. */
const NOT_FROM_PAGE =
  /^(accept-charset|accept-encoding|connection|content-length|cookie2?|date|dnt|expect|forwarded|host|http2-settings|keep-alive|origin|referer|te|trailer|transfer-encoding|upgrade|user-agent|via|x-forwarded-.*|x-real-ip|proxy-.*|sec-.*|service-worker.*)$/i;
/** Taken from the request for the WebSocket: what the browser and proxies in front say about the client. */
const FROM_UPGRADE = ["user-agent", "x-forwarded-for", "x-forwarded-proto"] as const;
/** Not passed to the page: they concern a connection, or the page must not see them. */
const NOT_TO_PAGE = new Set(["connection", "keep-alive", "transfer-encoding", "set-cookie", "trailer", "upgrade"]);
const TOKEN_CHARACTERS = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

export const headSchema = z.object({
  method: z.enum(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]),
  path: z.string().startsWith("/"),
  headers: z.array(z.tuple([z.string().regex(TOKEN_CHARACTERS), z.string()])).max(100),
  length: z.int().min(0).optional(),
});

/** Returns the headers of an ordinary request, or the refusal of one that a page could not send by `fetch`. */
export function headersFor(
  { path, headers, length, method }: RequestHead,
  upgrade: IncomingMessage,
): { headers: Record<string, string> } | Refusal {
  const result = Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), value]));
  if (headers.some(([name]) => NOT_FROM_PAGE.test(name)) || Object.keys(result).length < headers.length) {
    return BAD_HEAD;
  }
  const namesSandbox = (result["x-sandbox-id"] ?? "") !== "";
  if (namesSandbox === path.startsWith(API)) return NOT_ALLOWED;
  // A proxy in front may sign users in, and add their tokens to the request for the WebSocket.
  result["authorization"] ??= upgrade.headers.authorization ?? "";
  if (!BEARER.test(result["authorization"])) return unauthorized(undefined);
  for (const name of FROM_UPGRADE) {
    const value = upgrade.headers[name];
    if (value !== undefined) result[name] = [value].flat().join(", ");
  }
  result["host"] = hostOf(upgrade);
  result["sec-fetch-site"] = "same-origin";
  result["connection"] = "close";
  if (length === undefined) result["transfer-encoding"] = "chunked";
  else if (length > 0 || !["GET", "HEAD"].includes(method)) result["content-length"] = String(length);
  return { headers: result };
}

/** Returns the headers of an answer that the page gets. */
export function headersOf({ rawHeaders }: IncomingMessage): [string, string][] {
  const headers: [string, string][] = [];
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const [name, value] = [rawHeaders[i] as string, rawHeaders[i + 1] as string];
    if (!NOT_TO_PAGE.has(name.toLowerCase())) headers.push([name, value]);
  }
  return headers;
}
