/** The terminal page under its reserved path: answers for the sandbox, which never sees that path. Lets nobody in. @module */
import { Buffer } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";
import { errorFields, type Log } from "../../lib/log.ts";
import { sendRefusal } from "../proxy/answer.ts";
import type { Refusal } from "../refusal.ts";
import type { Target } from "../destination/target.ts";
import { type Asset, createAssets } from "./assets.ts";
import { documentOf } from "./document.ts";

/** The path on the runtime's port that is not the sandbox's; `?` and `/` may follow. */
export const TERMINAL_PATH = "/.hookbox/terminal";

/** What answers there, once a request has been let in. */
export interface TerminalPage {
  /** Whether a request is for the page or one of its files. */
  owns(place: Place): boolean;
  answer(request: IncomingMessage, response: ServerResponse, place: Place): void;
}

/** Path and query without credentials, and whose they are. */
interface Place {
  target: Target;
  path: string;
}

/** There is nothing under the path that speaks another protocol. */
export const NO_UPGRADE: Refusal = { status: 400, detail: "The terminal's WebSocket is at /v1/terminal." };

const NOT_ALLOWED: Refusal = {
  status: 405,
  detail: "The terminal page is only read.",
  headers: { Allow: "GET, HEAD" },
};
const NO_FILE: Refusal = { status: 404, detail: "There is no such file of the terminal page." };
const NOT_READ: Refusal = { status: 500, detail: "The router cannot read a file of the terminal page." };
const TOO_MUCH: Refusal = { status: 417, detail: "The terminal page takes no body." };

const SAFE = {
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "no-referrer",
  "Cross-Origin-Resource-Policy": "same-origin",
};
/** xterm.js writes its sizes and colours into style elements of its own. */
const POLICY = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self'; " +
  "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Makes it; `port` is where runtimes listen. */
export function createTerminalPage(log: Log, port: number): TerminalPage {
  const assets = createAssets();
  return {
    owns: ({ target, path }) => target.port === port && below(path) !== undefined,
    answer(request, response, { target, path }) {
      const { name = "", query = "" } = below(path) ?? {};
      if (request.method !== "GET" && request.method !== "HEAD") return sendRefusal(request, response, NOT_ALLOWED);
      if (request.headers.expect !== undefined) return sendRefusal(request, response, TOO_MUCH);
      if (name === "") return sendOn(response, query);
      if (name === "/") return sendDocument(request, response, documentOf(`${target.namespace}/${target.name}`));
      const asset = assets(name.slice(1));
      if (!asset) return sendRefusal(request, response, NO_FILE);
      asset.then((read) => sendAsset(request, response, read)).catch((error) => {
        log("error", "Cannot read a file of the terminal page", errorFields(error));
        sendRefusal(request, response, NOT_READ);
      });
    },
  };
}

/** Splits what follows the reserved path; undefined if the path is another. The query keeps its mark. */
function below(path: string): { name: string; query: string } | undefined {
  if (!path.startsWith(TERMINAL_PATH)) return undefined;
  const [, name = "", query = ""] = /^([^?]*)(.*)$/s.exec(path.slice(TERMINAL_PATH.length)) ?? [];
  return name === "" || name.startsWith("/") ? { name, query } : undefined;
}

/** Adds the slash that the page's addresses are relative to; relative itself, for others may know the path otherwise. */
function sendOn(response: ServerResponse, query: string): void {
  const kept = /^[!-~]*$/.test(query) ? query : "";
  response.writeHead(308, { Location: `terminal/${kept}`, "Content-Length": 0, "Cache-Control": "no-store", ...SAFE });
  response.end();
}

function sendDocument({ method }: IncomingMessage, response: ServerResponse, document: string): void {
  const body = Buffer.from(document);
  response.writeHead(200, {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Length": body.length,
    "Cache-Control": "no-store",
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    ...SAFE,
  });
  response.end(method === "HEAD" ? undefined : body);
}

function sendAsset({ method, headers }: IncomingMessage, response: ServerResponse, asset: Asset): void {
  const { type, etag, plain, gzipped } = asset;
  // An old version of one file beside a new one of another would not work: each is asked for anew.
  const caching = { ETag: etag, "Cache-Control": "private, no-cache", Vary: "Accept-Encoding", ...SAFE };
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
