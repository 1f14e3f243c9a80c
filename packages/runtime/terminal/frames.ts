/** Connects a terminal to a WebSocket: sends output as frames up to a limit, and reads frames as input. @module */
import type { Buffer } from "node:buffer";
import type { WebSocket } from "ws";
import { readOutput } from "../processes/output.ts";
import type { Process, Processes } from "../processes/processes.ts";

const PING_MS = 30_000;
/** How long the client may take to close the connection, in milliseconds. */
const GOODBYE_MS = 1000;

/** Options of a connection. */
interface TerminalQuery {
  /** Offset in the output of a detached process. */
  offset: number;
  /** Largest number of bytes sent but not acknowledged by the client; undefined: no limit. */
  window: number | undefined;
}

/** Connects both until one of them ends. A process that is not detached is killed when its socket closes. */
export async function serveTerminal(
  socket: WebSocket,
  entry: Process,
  processes: Processes,
  { offset, window: size }: TerminalQuery,
): Promise<void> {
  const left = new AbortController();
  socket.on("error", () => socket.terminate());
  socket.on("close", () => left.abort());
  const detach = processes.attach(entry);
  const stopPings = keepAlive(socket);
  const window = createWindow(size, left.signal);
  receiveInput(socket, entry, window);
  const output = async (bytes: Uint8Array) => {
    window.send(bytes.length);
    await sent(socket, bytes);
    await window.untilRoom();
  };
  try {
    await sendMessage(socket, { process: { processId: entry.running.pid } });
    await (entry.log ? sendLog(socket, entry, offset, output, left.signal) : sendOutput(entry, output, left.signal));
    if (!left.signal.aborted) {
      const { exitCode, signal } = await entry.ended;
      await sendMessage(socket, { exit: { exitCode, signal: signal ?? "" } });
    }
  } catch {
    // The socket is closed: the client has disconnected.
  } finally {
    detach();
    stopPings();
    if (!entry.log) entry.kill();
    socket.close(1000);
    setTimeout(() => socket.terminate(), GOODBYE_MS).unref();
  }
}

type SendOutput = (bytes: Uint8Array) => Promise<void>;

async function sendOutput(entry: Process, output: SendOutput, left: AbortSignal): Promise<void> {
  left.addEventListener("abort", () => entry.kill());
  for await (const { bytes } of readOutput(entry.running)) await output(bytes);
}

async function sendLog(
  socket: WebSocket,
  entry: Process,
  offset: number,
  output: SendOutput,
  signal: AbortSignal,
): Promise<void> {
  for await (const read of entry.log?.read(offset, { follow: true, signal }) ?? []) {
    if ("piece" in read) await output(read.piece.bytes);
    else await sendMessage(socket, { truncated: read });
  }
}

function sendMessage(socket: WebSocket, message: object): Promise<void> {
  return sent(socket, JSON.stringify(message));
}

/** Resolves when the data was sent, so that a slow client makes the program wait. */
function sent(socket: WebSocket, data: string | Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => socket.send(data, (error) => error ? reject(error) : resolve()));
}

function receiveInput(socket: WebSocket, entry: Process, window: OutputWindow): void {
  const { running } = entry;
  socket.on("message", (data: Buffer, isBinary) => {
    if (!isBinary) return receiveMessage(socket, entry, window, data.toString());
    const { stdin } = running;
    // Messages that had arrived are still delivered after the socket was paused.
    if (!stdin?.writable || stdin.write(data) || socket.isPaused) return;
    // While the program does not read, the runtime does not read either.
    socket.pause();
    window.suspendLimit(true);
    const goOn = () => {
      window.suspendLimit(false);
      stdin.off("drain", goOn).off("close", goOn);
      socket.off("close", goOn).resume();
    };
    stdin.on("drain", goOn).on("close", goOn);
    socket.on("close", goOn);
  });
}

function receiveMessage(socket: WebSocket, { running }: Process, window: OutputWindow, text: string): void {
  try {
    const { resize, taken } = JSON.parse(text);
    if (taken !== undefined) window.acknowledge(taken.bytes);
    else if ("resize" in running) running.resize({ cols: resize.cols, rows: resize.rows });
  } catch {
    socket.close(1008, "Cannot read a message");
  }
}

/**
 * Closes a socket whose client has been silent since the previous ping. A paused socket is not closed, because its answers are not
 * read.
 */
function keepAlive(socket: WebSocket): () => void {
  let alive = true;
  socket.on("pong", () => alive = true).on("message", () => alive = true);
  const timer = setInterval(() => {
    if (!alive && !socket.isPaused) return socket.terminate();
    alive = socket.isPaused;
    socket.ping();
  }, PING_MS);
  return () => clearInterval(timer);
}

/** A window. Without a size it has no limit. */
interface OutputWindow {
  /** Adds bytes that are about to be sent. To be called before sending, or the acknowledgement could come first. */
  send(bytes: number): void;
  /** Resolves when there is room, or the client has disconnected. */
  untilRoom(): Promise<void>;
  /** The client has processed this many bytes since the beginning. @throws {RangeError} if that is impossible */
  acknowledge(bytes: number): void;
  /**
   * Sets whether messages of the client are not read at the moment. If so, there is no limit; otherwise both sides
   * would wait for each other.
   */
  suspendLimit(isSuspended: boolean): void;
}

/** Creates a window. `left` aborts when the client has disconnected. @param size in bytes; undefined: no limit */
export function createWindow(size: number | undefined, left: AbortSignal): OutputWindow {
  let sent = 0;
  let taken = 0;
  let isSuspended = false;
  let onTaken = () => {};
  left.addEventListener("abort", () => onTaken());
  const isOpen = () => size === undefined || isSuspended || sent - taken < size;
  return {
    send: (bytes) => {
      sent += bytes;
    },
    async untilRoom() {
      while (!isOpen() && !left.aborted) await new Promise<void>((resolve) => onTaken = resolve);
    },
    acknowledge(bytes) {
      if (!Number.isSafeInteger(bytes) || bytes < taken || bytes > sent) {
        throw new RangeError(`Cannot have taken ${bytes} bytes: ${sent} were sent`);
      }
      taken = bytes;
      onTaken();
    },
    suspendLimit(now) {
      isSuspended = now;
      onTaken();
    },
  };
}
