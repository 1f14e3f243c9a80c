/** Runs commands in Pods through the API server, as `kubectl exec` does. Node and Deno. @module */
import type { Buffer } from "node:buffer";
import type { Credentials } from "../../kube/credentials.ts";
import { ConnectionError, type ObjectRef } from "../errors.ts";
import { type Channels, openChannels } from "./channels.ts";
import type { PodPlace } from "./direct.ts";
import type { ExecRequest, ExecSession } from "./transport.ts";

/** Channels of the protocol. Source: Kubernetes, `k8s.io/apimachinery/pkg/util/remotecommand`, version 5. */
const [STDIN, STDOUT, STDERR, STATUS, RESIZE, CLOSE] = [0, 1, 2, 3, 4, 255] as const;
/** Subprotocols, the preferred one first. Only version 5 can close the command's standard input. */
const PROTOCOLS = ["v5.channel.k8s.io", "v4.channel.k8s.io"];

type ExecEvent = ExecSession["events"] extends AsyncIterable<infer T> ? T : never;

/**
 * Starts a command in a Pod. If this function throws, the command did not run.
 *
 * @throws {@link ConnectionError} if the API server or the node refuses; the signal's reason if the signal is aborted
 * before the command starts
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
  const onMessage = (channel: number, bytes: Buffer) => {
    if (channel === STDOUT || channel === STDERR) {
      if (bytes.length > 0) queue.add({ type: "output", stream: channel === STDOUT ? "stdout" : "stderr", bytes });
      if (queue.isFull()) channels?.pause();
    } else if (channel === STATUS) handleStatus(bytes, object, queue.add, end);
  };
  const onClose = (error?: Error) => {
    if (!ended) end(execError(object, error?.message ?? "the connection ended early"));
  };
  const { signal } = request;
  try {
    const connection = { path: execPath(pod, request), protocols: PROTOCOLS, signal };
    channels = await openChannels(credentials, connection, { onMessage, onClose });
  } catch (error) {
    signal?.throwIfAborted();
    throw new ConnectionError(`Cannot run a command in Pod ${pod.name}: ${(error as Error).message}`, {
      object,
      cause: error,
      mayHaveArrived: false,
    });
  }
  const { send, close, resume } = channels;
  const encode = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));
  const resize: ExecSession["resize"] = ({ cols, rows }) => send(RESIZE, encode({ Width: cols, Height: rows }));
  if (request.size) await resize(request.size);
  return {
    events: queue.read(resume),
    write: (data) => send(STDIN, data),
    closeStdin: () => send(CLOSE, Uint8Array.of(STDIN)),
    resize,
    close,
  };
}

function execPath({ namespace, name }: PodPlace, { command, stdin, size }: ExecRequest): string {
  const query = new URLSearchParams(command.map((argument) => ["command", argument]));
  for (const [key, value] of Object.entries({ stdin, stdout: true, stderr: !size, tty: size !== undefined })) {
    query.set(key, String(value));
  }
  return `/api/v1/namespaces/${namespace}/pods/${name}/exec?${query}`;
}

/** Handles the Status with which the API server ends a command: the exit code, or the reason why it did not run. */
function handleStatus(
  bytes: Buffer,
  object: ObjectRef,
  add: (event: ExecEvent) => void,
  end: (error?: ConnectionError) => void,
): void {
  const status = parseStatus(bytes);
  if (!status) return end(execError(object, "the API server sent an exit status that is not valid"));
  const code = status.details?.causes?.find?.(({ reason }) => reason === "ExitCode")?.message;
  if (status.status !== "Success" && code === undefined) {
    return end(execError(object, status.message ?? "the API server gave no reason"));
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
 * Parses a Status; undefined: it is invalid. Does not throw, because an error in an event handler of the WebSocket
 * would end the caller's program.
 */
function parseStatus(bytes: Buffer): ExecStatus | undefined {
  try {
    const status: unknown = JSON.parse(bytes.toString());
    return typeof status === "object" && status !== null ? status : undefined;
  } catch {
    return undefined;
  }
}

function execError(object: ObjectRef, why: string): ConnectionError {
  return new ConnectionError(`Cannot run a command in Pod ${object.name}: ${why}`, { object });
}

/** If the unread events need more memory than this, the SDK stops reading from the API server. */
const HIGH_WATER_BYTES = 1 << 20;
/** Memory that each event needs in addition to its output: some programs write one byte at a time. */
const EVENT_OVERHEAD_BYTES = 256;

/** Creates the queue of events that have arrived, but that the caller has not read yet. */
function createQueue() {
  const events: ExecEvent[] = [];
  let bytes = 0;
  let ended: { error: ConnectionError | undefined } | undefined;
  let notifyReader = () => {};
  const sizeOf = (event: ExecEvent) => EVENT_OVERHEAD_BYTES + (event.type === "output" ? event.bytes.length : 0);
  return {
    isFull: () => bytes >= HIGH_WATER_BYTES,
    add(event: ExecEvent) {
      events.push(event);
      bytes += sizeOf(event);
      notifyReader();
    },
    end(error?: ConnectionError) {
      ended ??= { error };
      notifyReader();
    },
    async *read(resume: () => void): AsyncGenerator<ExecEvent> {
      for (;;) {
        const event = events.shift();
        if (event) {
          bytes -= sizeOf(event);
          if (bytes < HIGH_WATER_BYTES) resume();
          yield event;
        } else if (ended) {
          if (ended.error) throw ended.error;
          return;
        } else await new Promise<void>((resolve) => notifyReader = resolve);
      }
    },
  };
}
