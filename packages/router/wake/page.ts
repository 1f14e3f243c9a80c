/** Shows a page in the browser while a sandbox wakes up, and answers the page's requests for progress. @module */
import { Buffer } from "node:buffer";
import { randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Reachability } from "../index/reachability.ts";
import { SAFE_HEADERS } from "../answer.ts";

/** Header of the page's own requests. They neither wake nor reach the sandbox. */
export const POLL_HEADER = "x-sandbox-wake-poll";

/** Tells whether a person opens the address in a browser, and should see a page instead of waiting. */
export function isNavigation({ method, headers }: IncomingMessage): boolean {
  if (method !== "GET" || !headers.accept?.includes("text/html")) return false;
  const mode = headers["sec-fetch-mode"];
  return mode === undefined || mode === "navigate";
}

/** Answers the page with `{"state", "phase", "cause"}`; state is ready, waiting or failed. */
export function sendPhase(response: ServerResponse, reachability: Reachability): void {
  const body = Buffer.from(JSON.stringify(phaseOf(reachability)));
  response.writeHead(200, { "Content-Type": "application/json", "Content-Length": body.length, ...UNSTORED });
  response.end(body);
}

function phaseOf(reachability: Reachability): { state: string; phase: string; cause: string } {
  if (reachability.state === "reachable") return { state: "ready", phase: "ready", cause: "" };
  if (reachability.state === "suspended") return { state: "waiting", phase: "suspended", cause: "" };
  if (reachability.state === "starting") {
    return { state: "waiting", phase: reachability.phase, cause: reachability.cause };
  }
  return { state: "failed", phase: "failed", cause: reachability.refusal.detail };
}

/** Sends the page, with status 503 so that programs do not take it for the sandbox's answer. */
export function sendPage(response: ServerResponse, namespace: string, name: string): void {
  const nonce = randomBytes(16).toString("base64");
  const body = Buffer.from(pageOf(`${namespace}/${name}`, nonce));
  response.writeHead(503, {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Length": body.length,
    "Content-Security-Policy":
      `default-src 'none'; script-src 'nonce-${nonce}'; style-src 'nonce-${nonce}'; connect-src 'self'`,
    "Retry-After": "2",
    ...UNSTORED,
  });
  response.end(body);
}

const UNSTORED = { "Cache-Control": "no-store", ...SAFE_HEADERS };

/** Returns the page. `sandbox` consists of DNS labels, so it needs no escaping. */
function pageOf(sandbox: string, nonce: string): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${sandbox} is waking up</title>
<noscript><meta http-equiv="refresh" content="3"></noscript>
<style nonce="${nonce}">
  body { font: 16px system-ui, sans-serif; display: grid; place-content: center; min-height: 90vh; color-scheme: light dark }
  p { margin: .3em 0 } #cause { opacity: .7; max-width: 40em }
</style>
<p>Sandbox <b>${sandbox}</b> is waking up.</p>
<p id="phase" role="status">…</p>
<p id="cause"></p>
<script nonce="${nonce}">
  const began = Date.now(), show = (id, text) => { document.getElementById(id).textContent = text }
  async function look() {
    let pause = 500
    try {
      const answer = await fetch(location.href, { headers: { "${POLL_HEADER}": "1" }, cache: "no-store" })
      const { state, phase, cause } = await answer.json()
      if (state === "ready") return location.reload()
      show("phase", phase + ", " + Math.round((Date.now() - began) / 1000) + " s")
      show("cause", cause)
      if (state === "failed") return
    } catch { pause = 2000 }
    setTimeout(look, pause)
  }
  look()
</script>
</html>
`;
}
