/** Writes one JSON line per request, many at a time: a write for each would cost more than the request. @module */
import type { RequestRecord } from "./observer.ts";

/** The access log. */
export interface AccessLog {
  add(record: RequestRecord, status: number, ms: number): void;
  /** Writes the buffered lines. */
  flush(): void;
}

const FLUSH_MS = 200;
const MOST_LINES = 2000;

/**
 * Makes the log; `write` gets complete lines with their line ends. Queries are never logged: they may contain a token.
 */
export function createAccessLog(write: (text: string) => void): AccessLog {
  let lines: string[] = [];
  let timer: NodeJS.Timeout | undefined;
  const flush = () => {
    clearTimeout(timer);
    timer = undefined;
    if (lines.length === 0) return;
    const text = `${lines.join("\n")}\n`;
    lines = [];
    write(text);
  };
  return {
    flush,
    add({ request, address, target, client, traceId, heldMs }, status, ms) {
      const { url = "", method, httpVersion } = request;
      const query = url.indexOf("?");
      lines.push(JSON.stringify({
        time: new Date().toISOString(),
        level: "info",
        message: "Request",
        method,
        path: query < 0 ? url : url.slice(0, query),
        status,
        durationMs: Math.round(ms * 10) / 10,
        namespace: target?.namespace,
        name: target?.name,
        port: target?.port,
        client: client || `address:${address}`,
        http: httpVersion,
        traceId,
        ...(heldMs === 0 ? {} : { heldMs: Math.round(heldMs) }),
      }));
      if (lines.length >= MOST_LINES) flush();
      else timer ??= setTimeout(flush, FLUSH_MS);
    },
  };
}
