/** A terminal and a WebSocket, joined: frames in, frames out. Admits nobody and starts nothing. @module */
import type { Buffer } from "node:buffer";
import type { WebSocket } from "ws";
import { readOutput } from "../processes/output.ts";
import type { Process, Processes } from "../processes/processes.ts";

const PING_MS = 30_000;
/** How long the other side may take to say goodbye. */
const GOODBYE_MS = 1000;

/** Joins both until one of them ends; a process that is not detached ends with its socket. */
export async function serveTerminal(
  socket: WebSocket,
  entry: Process,
  processes: Processes,
  offset: number,
): Promise<void> {
  const left = new AbortController();
  socket.on("error", () => socket.terminate());
  socket.on("close", () => left.abort());
  const detach = processes.attach(entry);
  const stopPings = keepAlive(socket);
  takeInput(socket, entry);
  try {
    await say(socket, { process: { processId: entry.running.pid } });
    await (entry.log ? sendLog(socket, entry, offset, left.signal) : sendOutput(socket, entry, left.signal));
    if (!left.signal.aborted) {
      const { exitCode, signal } = await entry.ended;
      await say(socket, { exit: { exitCode, signal: signal ?? "" } });
    }
  } catch {
    // The socket is closed: the other side has left.
  } finally {
    detach();
    stopPings();
    if (!entry.log) entry.kill();
    socket.close(1000);
    setTimeout(() => socket.terminate(), GOODBYE_MS).unref();
  }
}

async function sendOutput(socket: WebSocket, entry: Process, left: AbortSignal): Promise<void> {
  left.addEventListener("abort", () => entry.kill());
  for await (const { bytes } of readOutput(entry.running)) await sent(socket, bytes);
}

async function sendLog(socket: WebSocket, entry: Process, offset: number, signal: AbortSignal): Promise<void> {
  for await (const read of entry.log?.read(offset, { follow: true, signal }) ?? []) {
    if ("piece" in read) await sent(socket, read.piece.bytes);
    else await say(socket, { truncated: read });
  }
}

function say(socket: WebSocket, message: object): Promise<void> {
  return sent(socket, JSON.stringify(message));
}

/** Resolves when it is on its way: a slow reader holds the program up. */
function sent(socket: WebSocket, data: string | Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => socket.send(data, (error) => error ? reject(error) : resolve()));
}

function takeInput(socket: WebSocket, entry: Process): void {
  const { running } = entry;
  socket.on("message", (data: Buffer, isBinary) => {
    if (!isBinary) return takeMessage(socket, entry, data.toString());
    if (!running.stdin?.writable || running.stdin.write(data)) return;
    // The program does not read: nor does the runtime, for as long.
    socket.pause();
    running.stdin.once("drain", () => socket.resume());
  });
}

function takeMessage(socket: WebSocket, { running }: Process, text: string): void {
  try {
    const { resize } = JSON.parse(text);
    if ("resize" in running) running.resize({ cols: resize.cols, rows: resize.rows });
  } catch {
    socket.close(1008, "Cannot read a message");
  }
}

/** Ends a socket whose other side has been silent for two pings. */
function keepAlive(socket: WebSocket): () => void {
  let alive = true;
  socket.on("pong", () => alive = true);
  const timer = setInterval(() => {
    if (!alive) return socket.terminate();
    alive = false;
    socket.ping();
  }, PING_MS);
  return () => clearInterval(timer);
}
