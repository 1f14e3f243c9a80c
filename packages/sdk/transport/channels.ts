/**
 * Opens the WebSockets of exec and port-forward to the API server, whose messages have a channel number. Node and Deno.
 * @module
 */
import { Buffer } from "node:buffer";
import type { ClientRequest } from "node:http";
import { WebSocket } from "ws";
import type { Credentials } from "../../kube/credentials.ts";

/** Unsent bytes from which the sender has to wait. */
const HIGH_WATER_BYTES = 1 << 20;
/**
 * How long the server may take to confirm that the connection is closed, in milliseconds. The process cannot end
 * before.
 */
const CLOSE_MS = 1000;

/** An open connection. */
export interface Channels {
  /** Resolves when there is room for more data. On a closed connection, it sends nothing. */
  send(channel: number, bytes: Uint8Array): Promise<void>;
  /** Stops receiving messages, until `resume`. */
  pause(): void;
  resume(): void;
  close(): void;
}

/** Functions that are called when something arrives on the connection. */
export interface ChannelHandlers {
  onMessage(channel: number, bytes: Buffer): void;
  /** The connection was closed; `error` is absent if it was closed normally. */
  onClose(error?: Error): void;
}

/** Which connection to open. */
export interface ChannelsRequest {
  path: string;
  /** Subprotocols, the preferred one first. Source: Kubernetes, `k8s.io/apimachinery/pkg/util/remotecommand` */
  protocols: string[];
  /** Closes the connection, also while it is being opened. */
  signal?: AbortSignal | undefined;
  /** Whether the process may end while the connection is open. @default false */
  isBackground?: boolean;
}

/**
 * Opens a connection; resolves when it is open.
 *
 * @throws {Error} with the API server's message if it refuses; the reason of the signal if that is aborted before
 */
export async function openChannels(
  credentials: Credentials,
  { path, protocols, signal, isBackground = false }: ChannelsRequest,
  handlers: ChannelHandlers,
): Promise<Channels> {
  const { headers, tls, agent } = await credentials.current();
  signal?.throwIfAborted();
  const url = credentials.server.replace(/^http/, "ws") + path;
  // In a variable, because the types of the options do not have `closeTimeout`.
  const options = {
    headers,
    ...tls,
    ...agent ? { agent } : {},
    perMessageDeflate: false,
    closeTimeout: CLOSE_MS,
    ...isBackground ? { finishRequest } : {},
  };
  const socket = new WebSocket(url, protocols, options);
  socket.binaryType = "nodebuffer";
  let isLeft = false;
  // Registered before the connection is open: the first messages may arrive together with the response.
  socket.on("message", (message: Buffer) => {
    if (!isLeft) handlers.onMessage(message[0] ?? 0, message.subarray(1));
  });
  const close = () => {
    isLeft = true;
    // A paused connection would not notice that the server has closed it.
    socket.resume();
    socket.close();
  };
  signal?.addEventListener("abort", close, { once: true });
  socket.on("close", () => signal?.removeEventListener("abort", close));
  await opened(socket).catch((error) => {
    signal?.throwIfAborted();
    throw error;
  });
  let failure: Error | undefined;
  socket.on("error", (error) => failure = error);
  socket.on("close", () => handlers.onClose(failure));
  return {
    send: (channel, bytes) =>
      new Promise((resolve) => {
        const done = () => resolve();
        if (socket.readyState !== WebSocket.OPEN) return done();
        const isFull = socket.bufferedAmount >= HIGH_WATER_BYTES;
        socket.send(Buffer.concat([Buffer.of(channel), bytes]), done);
        if (!isFull) done();
      }),
    pause: () => socket.pause(),
    resume: () => socket.resume(),
    close,
  };
}

/** Lets the process end while the request is open: an API server may need minutes to answer for a deleted Pod. */
function finishRequest(request: ClientRequest): void {
  request.on("socket", (socket) => socket.unref()).end();
}

async function opened(socket: WebSocket): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    socket.once("open", resolve).on("error", reject);
    socket.once("unexpected-response", (request, answer) => {
      const chunks: Buffer[] = [];
      answer.on("error", reject).on("close", () => reject(new Error(`status ${answer.statusCode}`)));
      answer.on("data", (chunk: Buffer) => chunks.push(chunk)).on("end", () => {
        request.destroy();
        const text = Buffer.concat(chunks).toString().trim();
        reject(new Error(wordsOf(text) || `status ${answer.statusCode}`));
      });
    });
  });
}

function wordsOf(text: string): string {
  try {
    return (JSON.parse(text) as { message?: string }).message ?? text;
  } catch {
    return text.slice(0, 500);
  }
}
