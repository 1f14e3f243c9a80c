/** Follows one process until it ends, and reconnects if a connection breaks. @module */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { type CallOptions, createClient } from "@connectrpc/connect";
import {
  type AttachResponse,
  type ProcessEnd,
  ProcessesService,
  type StartDetachedRequestSchema,
} from "../../runtime-api/gen/hookbox/runtime/v1/processes_pb.ts";
import { RESPONSE_HEADER_TIMEOUT_MS, WAKE_TIMEOUT_MS } from "../../api/router/timeouts.ts";
import { ConnectionError, NotFoundError, SandboxNotFoundError, TimeoutError } from "../errors.ts";
import { errorOfConnect } from "../runtime/answers.ts";
import { inTime } from "../runtime/deadline.ts";
import type { RuntimeClient } from "../runtime/runtimeclient.ts";
import { NO_WAKE } from "../transport/transport.ts";
import { pause } from "../runtime/repeat.ts";

/** What happens to a process. */
export type ProcessEvent =
  | { type: "started"; processId: number }
  | { type: "output"; stream: "stdout" | "stderr"; bytes: Uint8Array }
  /** Output that the sandbox did not keep. */
  | { type: "lost" }
  | { type: "end"; exitCode: number; signal: string; timedOut: boolean };

/** The process: to be started, or running already. */
export type Source =
  | { start: MessageInitShape<typeof StartDetachedRequestSchema> & { requestId: string } }
  | { processId: number };

/**
 * Waits before each new connection, in milliseconds. After output, or a connection of more than {@link STOOD_MS}, they
 * start from the beginning.
 */
const WAITS_MS = [50, 100, 400, 1600, 3000, 5000];
/** The waits while the runtime in the sandbox has never answered. */
const FIRST_WAITS_MS = WAITS_MS.slice(0, 3);
const STOOD_MS = 10_000;
/** How long a command may take to start: a router waits for a suspended sandbox to resume, then for the response. */
const START_MS = WAKE_TIMEOUT_MS + RESPONSE_HEADER_TIMEOUT_MS;
/**
 * Received bytes after which the SDK acknowledges them. Much less than the runtime sends without an acknowledgement.
 */
const ACKNOWLEDGE_BYTES = 256 * 1024;

/**
 * Starts or follows the process, and returns after its end. The process is started only once: if a request may have
 * arrived, it is sent again with the same id, and the runtime does not start a second process.
 *
 * @param isGivenUp returns whether the caller cancelled the call; a failed request is then not repeated
 * @throws {@link ConnectionError} if the sandbox cannot be reached for about ten seconds, or was restarted
 */
export async function* eventsOf(
  runtimeClient: RuntimeClient,
  source: Source,
  action: string,
  signal?: AbortSignal,
  isGivenUp: () => boolean = () => false,
): AsyncGenerator<ProcessEvent> {
  const follower = createFollower(runtimeClient, source, signal);
  for (let failures = 0;;) {
    const opened = performance.now();
    try {
      for await (const { event } of follower.open()) {
        const read = follower.take(event);
        if (read?.type === "output" || read?.type === "end" || performance.now() - opened > STOOD_MS) failures = 0;
        if (read) yield read;
        if (read?.type === "end") return;
      }
      throw new ConnectionError(`Cannot ${action}: the stream ended early`, { object: runtimeClient.object });
    } catch (thrown) {
      signal?.throwIfAborted();
      const error = errorOfConnect(thrown, action, runtimeClient.object);
      if (error instanceof SandboxNotFoundError) throw error;
      if (error instanceof NotFoundError && follower.hasStarted()) throw restarted(runtimeClient, action, error);
      const wait = (runtimeClient.known.runtime ? WAITS_MS : FIRST_WAITS_MS)[failures++];
      if (!(error instanceof ConnectionError) || wait === undefined || isGivenUp()) throw error;
      await pause(wait, signal);
    }
  }
}

/**
 * Starts and follows a process, at most for its time limit plus a few seconds.
 *
 * @throws {@link TimeoutError} if the sandbox has not ended the process by then; otherwise as {@link eventsOf}
 */
export function eventsInTime(
  runtimeClient: RuntimeClient,
  start: Extract<Source, { start: unknown }>["start"],
  action: string,
  { signal, timeoutMs }: { signal?: AbortSignal | undefined; timeoutMs?: number | undefined },
): AsyncGenerator<ProcessEvent> {
  const isGivenUp = () => signal?.aborted === true;
  return inTime((signals) => eventsOf(runtimeClient, { start }, action, signals, isGivenUp), {
    signal,
    timeoutMs,
    beginMs: START_MS,
    isBeginning: ({ type }) => type === "started",
    runsOn: true,
    late: () =>
      new TimeoutError(`Cannot ${action}: the sandbox has not ended it after ${timeoutMs} ms`, {
        object: runtimeClient.object,
        remedy: "It may still run.",
      }),
  });
}

function restarted({ object }: RuntimeClient, action: string, cause: unknown): ConnectionError {
  const remedy = "Run it again if that does no harm.";
  return new ConnectionError(`Cannot ${action}: the sandbox was restarted, and the command is gone`, {
    object,
    remedy,
    cause,
  });
}

function createFollower(runtimeClient: RuntimeClient, source: Source, signal: AbortSignal | undefined) {
  const client = createClient(ProcessesService, runtimeClient.connectTransport);
  const options: CallOptions = signal ? { signal } : {};
  const requestId = "start" in source ? source.start.requestId : "";
  const isLossless = "start" in source && source.start.lossless === true;
  let processId = "start" in source ? undefined : source.processId;
  let offset = 0;
  let acknowledged = 0;
  const acknowledge = () => {
    if (!isLossless || processId === undefined || offset - acknowledged < ACKNOWLEDGE_BYTES) return;
    acknowledged = offset;
    // If an acknowledgement is lost, the next one includes it.
    client.acknowledge({ processId, offset: BigInt(offset) }).catch(() => {});
  };
  return {
    hasStarted: () => processId !== undefined && "start" in source,
    open(): AsyncIterable<AttachResponse> {
      if (processId === undefined && "start" in source) return client.run(source.start, options);
      const from = { processId: processId ?? 0, offset: BigInt(offset), requestId };
      // A process that this call started ended when its sandbox was suspended, so the request must not resume the
      // sandbox.
      return client.attach(from, { ...options, headers: "start" in source ? NO_WAKE : {} });
    },
    take(event: AttachResponse["event"]): ProcessEvent | undefined {
      if (event.case === "started") return { type: "started", processId: processId = event.value.processId };
      if (event.case === "end") return endOf(event.value);
      if (event.case === "truncated") {
        offset = Number(event.value.beforeOffset);
        return { type: "lost" };
      }
      const { data, offset: at = 0n } = event.value ?? {};
      if (data?.case === undefined) return undefined;
      offset = Number(at) + data.value.length;
      acknowledge();
      return { type: "output", stream: data.case, bytes: data.value };
    },
  };
}

function endOf({ exitCode, signal, timedOut }: ProcessEnd): ProcessEvent {
  return { type: "end", exitCode, signal, timedOut };
}
