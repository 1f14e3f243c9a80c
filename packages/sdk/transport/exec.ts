/** Runs commands in Pods through the API server, as `kubectl exec` does. Node and Deno. @module */
import type { Buffer } from "node:buffer";
import type { Credentials } from "../../kube/credentials.ts";
import { ConnectionError, type ObjectRef } from "../errors.ts";
import { type Channels, openChannels } from "./channels.ts";
import type { PodPlace } from "./direct.ts";
import type { ExecRequest, ExecSession } from "./transport.ts";

/** Channels of the protocol. Source: Kubernetes, `k8s.io/apimachinery/pkg/util/remotecommand`, version 5. */
const [STDIN, STDOUT, STDERR, STATUS, RESIZE, CLOSE] = [0, 1, 2, 3, 4, 255] as const;
/** Version 5 can close the input; version 4 cannot. */
const PROTOCOLS = ["v5.channel.k8s.io", "v4.channel.k8s.io"];

type ExecEvent = ExecSession["events"] extends AsyncIterable<infer T> ? T : never;

/**
 * Starts a command.
 *
 * @throws {@link ConnectionError} if the API server or the node refuses; the reason of the signal if that is aborted
 * before. In both cases, the command did not run
 */
export async function execInPod(credentials: Credentials, pod: PodPlace, request: ExecRequest): Promise<ExecSession> {
  const object: ObjectRef = { kind: "Pod", namespace: pod.namespace, name: pod.name };
  const queue = createQueue();
  let channels: Channels | undefined;
  let ended = false;
  const end = (error?: ConnectionError) => {
    ended = true;
    queue.end(error);
  };
  const message = (channel: number, bytes: Buffer) => {
    if (channel === STDOUT || channel === STDERR) {
      if (bytes.length > 0) queue.add({ type: "output", stream: channel === STDOUT ? "stdout" : "stderr", bytes });
      if (queue.isFull()) channels?.pause();
    } else if (channel === STATUS) finish(bytes, object, queue.add, end);
  };
  const closed = (error?: Error) => {
    if (!ended) end(broken(object, error?.message ?? "the connection ended early"));
  };
  const { signal } = request;
  try {
    const asked = { path: pathOf(pod, request), protocols: PROTOCOLS, signal };
    channels = await openChannels(credentials, asked, { message, closed });
  } catch (error) {
    signal?.throwIfAborted();
    throw new ConnectionError(`Cannot run a command in Pod ${pod.name}: ${(error as Error).message}`, {
      object,
      cause: error,
      mayHaveArrived: false,
    });
  }
  const { send, close, resume } = channels;
  const text = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));
  const resize: ExecSession["resize"] = ({ cols, rows }) => send(RESIZE, text({ Width: cols, Height: rows }));
  if (request.size) await resize(request.size);
  return {
    events: queue.read(resume),
    write: (data) => send(STDIN, data),
    closeStdin: () => send(CLOSE, Uint8Array.of(STDIN)),
    resize,
    close,
  };
}

function pathOf({ namespace, name }: PodPlace, { command, stdin, size }: ExecRequest): string {
  const query = new URLSearchParams(command.map((word) => ["command", word]));
  for (const [key, wanted] of Object.entries({ stdin, stdout: true, stderr: !size, tty: size !== undefined })) {
    query.set(key, String(wanted));
  }
  return `/api/v1/namespaces/${namespace}/pods/${name}/exec?${query}`;
}

/** Reads the Status that ends a command: its exit code, or why it did not run. */
function finish(
  bytes: Buffer,
  object: ObjectRef,
  add: (event: ExecEvent) => void,
  end: (error?: ConnectionError) => void,
): void {
  const status = statusOf(bytes);
  if (!status) return end(broken(object, "its end cannot be read"));
  const code = status.details?.causes?.find?.(({ reason }) => reason === "ExitCode")?.message;
  if (status.status !== "Success" && code === undefined) {
    return end(broken(object, status.message ?? "no reason was given"));
  }
  add({ type: "end", exitCode: code === undefined ? 0 : Number(code) });
  end();
}

interface ExecStatus {
  status?: string;
  message?: string;
  details?: { causes?: { reason?: string; message?: string }[] };
}

/**
 * Returns undefined if the message is not a Status. An error thrown in the message handler would end the caller's
 * program.
 */
function statusOf(bytes: Buffer): ExecStatus | undefined {
  try {
    const status: unknown = JSON.parse(bytes.toString());
    return typeof status === "object" && status !== null ? status : undefined;
  } catch {
    return undefined;
  }
}

function broken(object: ObjectRef, why: string): ConnectionError {
  return new ConnectionError(`Cannot run a command in Pod ${object.name}: ${why}`, { object });
}

/** Unread bytes, with {@link PIECE_COST} for each piece, from which the SDK stops reading from the API server. */
const HIGH_WATER_BYTES = 1 << 20;
/** What a piece counts in addition to its bytes: some programs write one byte at a time. */
const PIECE_COST = 256;

/** Creates a queue between the connection and the reader of its events. */
function createQueue() {
  const events: ExecEvent[] = [];
  let bytes = 0;
  let over: { error: ConnectionError | undefined } | undefined;
  let wake = () => {};
  const sizeOf = (event: ExecEvent) => PIECE_COST + (event.type === "output" ? event.bytes.length : 0);
  return {
    isFull: () => bytes >= HIGH_WATER_BYTES,
    add(event: ExecEvent) {
      events.push(event);
      bytes += sizeOf(event);
      wake();
    },
    end(error?: ConnectionError) {
      over ??= { error };
      wake();
    },
    async *read(resume: () => void): AsyncGenerator<ExecEvent> {
      for (;;) {
        const event = events.shift();
        if (event) {
          bytes -= sizeOf(event);
          if (bytes < HIGH_WATER_BYTES) resume();
          yield event;
        } else if (over) {
          if (over.error) throw over.error;
          return;
        } else await new Promise<void>((resolve) => wake = resolve);
      }
    },
  };
}
