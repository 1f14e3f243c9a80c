/** Serves the terminal page under its reserved path, in place of the sandbox. @module */
import { Buffer } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";
import { errorFields, type Log } from "../../process/log.ts";
import { createPageFiles, type PageFiles, SAFE_HEADERS, sendPageFile, sendRefusal } from "../answer.ts";
import type { Target } from "../destination.ts";
import type { Refusal } from "../refusal.ts";

/** Reserved path on the runtime's port; `?` and `/` may follow. */
const TERMINAL_PATH = "/.hookbox/terminal";

/** Answers requests for the page after they have been admitted. */
export interface TerminalPage {
  /** Tells whether a request is for the page or one of its files. */
  owns(asked: TerminalRequest): boolean;
  answer(request: IncomingMessage, response: ServerResponse, asked: TerminalRequest): void;
}

/** The sandbox that a request is for, and path and query without credentials. */
interface TerminalRequest {
  target: Target;
  path: string;
}

/** Refuses protocol switches under the reserved path. */
export const NO_UPGRADE: Refusal = { status: 400, detail: "The terminal's WebSocket is at /v1/terminal." };

const NOT_ALLOWED: Refusal = {
  status: 405,
  detail: "Only GET and HEAD are allowed.",
  headers: { Allow: "GET, HEAD" },
};
const NO_FILE: Refusal = { status: 404, detail: "There is no such file of the terminal page." };
const READ_FAILED: Refusal = { status: 500, detail: "The router cannot read a file of the terminal page." };
const NO_BODY: Refusal = { status: 417, detail: "The terminal page takes no body." };

/** Allows inline styles, as xterm.js writes its sizes and colours into style elements. */
const POLICY = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self'; " +
  "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Creates the page. @param port the port of runtimes */
export function createTerminalPage(log: Log, port: number): TerminalPage {
  const pageFiles = createPageFiles(FILES);
  return {
    owns: ({ target, path }) => target.port === port && pathBelow(path) !== undefined,
    answer(request, response, { target, path }) {
      const { name = "", query = "" } = pathBelow(path) ?? {};
      if (request.method !== "GET" && request.method !== "HEAD") return sendRefusal(request, response, NOT_ALLOWED);
      if (request.headers.expect !== undefined) return sendRefusal(request, response, NO_BODY);
      if (name === "") return redirectToPage(response, query);
      if (name === "/") return sendDocument(request, response, documentOf(`${target.namespace}/${target.name}`));
      const file = pageFiles(name.slice(1));
      if (!file) return sendRefusal(request, response, NO_FILE);
      file.then((read) => sendPageFile(request, response, read)).catch((error) => {
        log("error", "Cannot read a file of the terminal page", errorFields(error));
        sendRefusal(request, response, READ_FAILED);
      });
    },
  };
}

/** Splits the path after the reserved part; undefined if the path is another. The query keeps its question mark. */
function pathBelow(path: string): { name: string; query: string } | undefined {
  if (!path.startsWith(TERMINAL_PATH)) return undefined;
  const [, name = "", query = ""] = /^([^?]*)(.*)$/s.exec(path.slice(TERMINAL_PATH.length)) ?? [];
  return name === "" || name.startsWith("/") ? { name, query } : undefined;
}

/**
 * Redirects to the path with a slash at its end, for the page's relative URLs. The redirect is relative itself, as
 * clients may see another path.
 */
function redirectToPage(response: ServerResponse, query: string): void {
  const kept = /^[!-~]*$/.test(query) ? query : "";
  response.writeHead(308, {
    Location: `terminal/${kept}`,
    "Content-Length": 0,
    "Cache-Control": "no-store",
    ...SAFE_HEADERS,
  });
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
    ...SAFE_HEADERS,
  });
  response.end(method === "HEAD" ? undefined : body);
}

/**
 * Returns the page. All its URLs are relative, as the page does not know how the client named the sandbox.
 *
 * @param sandbox `<namespace>/<name>`; consists of DNS labels, so it needs no escaping
 */
function documentOf(sandbox: string): string {
  return `<!doctype html>
<html lang="en" data-sandbox="${sandbox}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1, interactive-widget=resizes-content">
<meta name="color-scheme" content="dark light">
<title>${sandbox} – terminal</title>
<link rel="icon" href="icon.svg">
<link rel="stylesheet" href="xterm.css">
<link rel="stylesheet" href="page.css">
<link rel="modulepreload" href="xterm.js">
<link rel="modulepreload" href="fit.js">
<script type="module" src="page.js"></script>
</head>
<body>
<header>
  <h1>${sandbox}</h1>
  <p id="line" data-state="connecting"><span id="status" role="status">Connecting…</span> <span id="clock" aria-hidden="true"></span></p>
  <button id="again" type="button" hidden>New terminal</button>
  <label title="Lets a screen reader read the output"><input id="reader" type="checkbox"> Screen reader</label>
</header>
<main id="terminal" aria-label="Terminal" aria-describedby="leave"></main>
<p id="leave" class="aside">Ctrl+Shift+F6 moves the focus out of the terminal.</p>
<noscript><p>This page needs JavaScript.</p></noscript>
</body>
</html>
`;
}

/** File names under the page's path, and where the files are: a URL, or a module specifier for files of a package. */
const FILES: PageFiles = {
  "page.js": new URL("./page/page.js", import.meta.url),
  "connection.js": new URL("./page/connection.js", import.meta.url),
  "page.css": new URL("./page/page.css", import.meta.url),
  "icon.svg": new URL("./page/icon.svg", import.meta.url),
  "xterm.js": "@xterm/xterm/lib/xterm.mjs",
  "xterm.css": "@xterm/xterm/css/xterm.css",
  "fit.js": "@xterm/addon-fit/lib/addon-fit.mjs",
};
