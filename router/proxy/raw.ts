/** Answers on a connection that node:http has handed over. Decides nothing. @module */
import { Buffer } from "node:buffer";
import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { Refusal } from "../refusal.ts";

/** A connection that is refused is closed after this, whatever its client does, in milliseconds. */
const LINGER_MS = 2000;

/** Returns the head of an answer; `headers` are flat, and come from a parser or from us: no line ends in them. */
export function headOf(status: number, message: string | undefined, headers: readonly string[]): string {
  let head = `HTTP/1.1 ${status} ${message || STATUS_CODES[status] || ""}\r\n`;
  for (let i = 0; i + 1 < headers.length; i += 2) head += `${headers[i]}: ${headers[i + 1]}\r\n`;
  return `${head}\r\n`;
}

/** Answers `{"detail": …}` and ends the connection. */
export function refuseRaw(socket: Socket, { status, detail, headers = {} }: Refusal): void {
  if (socket.destroyed) return;
  const body = Buffer.from(JSON.stringify({ detail }));
  const head = headOf(status, undefined, [
    ...["Content-Type", "application/json", "Content-Length", String(body.length), "Cache-Control", "no-store"],
    ...Object.entries(headers).flat(),
    ...["Connection", "close"],
  ]);
  socket.on("error", () => {});
  socket.end(Buffer.concat([Buffer.from(head, "latin1"), body]));
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once("close", () => clearTimeout(timer));
}
