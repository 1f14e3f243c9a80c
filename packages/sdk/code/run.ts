/** Runs a piece of code in a context and collects its output and results. The request is sent only once. @module */
import { createClient } from "@connectrpc/connect";
import { ContextsService, type RunCodeResponse } from "../../runtime-api/gen/hookbox/runtime/v1/contexts_pb.ts";
import { ConnectionError, InvalidArgumentError, TimeoutError } from "../errors.ts";
import { errorOfConnect } from "../runtime/answers.ts";
import type { UserOptions } from "../runtime/call.ts";
import { inTime, limitOf } from "../runtime/repeat.ts";
import type { RuntimeClient } from "../runtime/runtimeclient.ts";
import type { CodeContext, CodeLanguage } from "./code.ts";
import { type Execution, type ExecutionError, type Result, resultOf } from "./execution.ts";

/** A callback for output, results or errors. If it returns a promise, the next call waits for it. */
export type CodeCallback<T> = (value: T) => unknown;

/** Options of `runCode`. */
export interface RunCodeOptions extends UserOptions {
  /** Language; its default context is created at the first call. Not together with `context`. @default "python" */
  language?: CodeLanguage | undefined;
  /** The context to run in, or its id. It runs as the user who was chosen for the context, so not together with `user`. */
  context?: CodeContext | string | undefined;
  onStdout?: CodeCallback<string> | undefined;
  onStderr?: CodeCallback<string> | undefined;
  onResult?: CodeCallback<Result> | undefined;
  onError?: CodeCallback<ExecutionError> | undefined;
  /** Largest number of characters per stream in `logs`; callbacks get everything. @default 16777216 */
  maxOutputLength?: number | undefined;
  /**
   * Limit for `results`, in characters of all forms together. When it is reached, no more results are kept; callbacks
   * get everything. At most 10,000 results are kept.
   *
   * @default 67108864
   */
  maxResultsLength?: number | undefined;
  /**
   * Interrupts the code after it has run for this many milliseconds. Waiting for other code does not count. After the
   * first output, the call ends a few seconds later at most, even if the sandbox does not react.
   *
   * @default no limit
   */
  timeoutMs?: number | undefined;
  /** Cancels the call and interrupts the code. The variables of the context are kept. */
  signal?: AbortSignal | undefined;
}

const ACTION = "run code";

/** Runs the code. @throws as `Code.runCode` */
export async function runCode(runtimeClient: RuntimeClient, code: string, options: RunCodeOptions): Promise<Execution> {
  const { signal, timeoutMs } = options;
  signal?.throwIfAborted();
  const request = requestOf(code, options);
  const client = createClient(ContextsService, runtimeClient.connectTransport);
  const gatherer = createResultCollector(options);
  const { execution } = gatherer;
  let ended: { timedOut: boolean } | undefined;
  const open = (signal: AbortSignal) => failingAs(client.runCode(request, { signal }), runtimeClient, signal);
  const events = inTime(open, {
    signal,
    timeoutMs,
    // The runtime does not report when other code ends and this code starts.
    beginMs: Infinity,
    isBeginning: () => true,
    late: () => tookTooLong(runtimeClient, execution, timeoutMs),
  });
  for await (const { event } of events) {
    if (event.case === "ended") ended = { timedOut: event.value.timedOut };
    await addEvent(gatherer, event, options);
  }
  if (!ended) {
    throw new ConnectionError(`Cannot ${ACTION} to its end: the answer breaks off`, { object: runtimeClient.object });
  }
  if (ended.timedOut) throw tookTooLong(runtimeClient, execution, timeoutMs);
  return execution;
}

function requestOf(code: string, { language, context, timeoutMs, user }: RunCodeOptions) {
  if (context !== undefined && (language ?? user) !== undefined) {
    const given = language === undefined ? "user" : "language";
    throw new InvalidArgumentError(`Cannot ${ACTION}: pass either ${given} or context, not both`);
  }
  if (timeoutMs !== undefined && !(timeoutMs > 0)) {
    throw new InvalidArgumentError(`Cannot ${ACTION}: timeoutMs ${timeoutMs} is not above 0`);
  }
  const limit = limitOf(timeoutMs);
  return {
    code,
    contextId: typeof context === "string" ? context : context?.id ?? "",
    language: language ?? "",
    ...limit === undefined ? {} : { timeoutMs: BigInt(Math.ceil(limit)) },
  };
}

/** Yields the events of a call. Converts errors of the call itself, but not errors that a callback throws. */
async function* failingAs(
  events: AsyncIterable<RunCodeResponse>,
  { object }: RuntimeClient,
  signal: AbortSignal,
): AsyncGenerator<RunCodeResponse> {
  const iterator = events[Symbol.asyncIterator]();
  while (true) {
    const next = await iterator.next().catch((error) => {
      signal.throwIfAborted();
      throw errorOfConnect(error, ACTION, object);
    });
    if (next.done) return;
    yield next.value;
  }
}

async function addEvent(
  { execution, addOutput, addResult }: ResultCollector,
  event: RunCodeResponse["event"],
  { onStdout, onStderr, onResult, onError }: RunCodeOptions,
): Promise<void> {
  switch (event.case) {
    case "stdout":
    case "stderr":
      addOutput(event.case, event.value);
      await (event.case === "stdout" ? onStdout : onStderr)?.(event.value);
      break;
    case "result": {
      const result = resultOf(event.value);
      addResult(result);
      await onResult?.(result);
      break;
    }
    case "error": {
      const { name, value, traceback } = event.value;
      execution.error = { name, value, traceback };
      await onError?.(execution.error);
      break;
    }
    case "ended":
      execution.executionCount = event.value.executionCount;
  }
}

function tookTooLong({ object }: RuntimeClient, execution: Execution, timeoutMs = 0): TimeoutError {
  const remedy = "Raise the option `timeoutMs`, or leave it out for no limit.";
  const isLost = execution.error?.name === "KernelDied";
  const lost = isLost ? ". It ignored the interrupt, so the interpreter was killed and its variables are lost" : "";
  return new TimeoutError(`Cannot ${ACTION} to its end: it was broken off after ${timeoutMs} ms${lost}`, {
    object,
    remedy,
    cause: execution,
  });
}

/** Adds output and results to an execution. */
interface ResultCollector {
  /** The output and results so far. */
  execution: Execution;
  addOutput(stream: "stdout" | "stderr", text: string): void;
  addResult(result: Result): void;
}

const MAX_CHARACTERS = 16 << 20;
const RESULTS_CHARACTERS = 64 << 20;
const MAX_RESULTS = 10_000;
/** A short string needs more memory than its characters, so this many pieces are joined into one. */
const PIECES = 4096;
/** What a value counts in addition to its characters. */
const VALUE_CHARACTERS = 32;

/** Creates a gatherer for an execution that has not started. @param most the limits, from the options of `runCode` */
function createResultCollector(
  most: { maxOutputLength?: number | undefined; maxResultsLength?: number | undefined },
): ResultCollector {
  const { maxOutputLength = MAX_CHARACTERS, maxResultsLength = RESULTS_CHARACTERS } = most;
  const execution: Execution = { results: [], logs: { stdout: [], stderr: [] }, executionCount: 0 };
  const { results, logs } = execution;
  const keepers = {
    stdout: createTextCollector(logs.stdout, maxOutputLength),
    stderr: createTextCollector(logs.stderr, maxOutputLength),
  };
  let length = 0;
  return {
    execution,
    addOutput(stream, text) {
      if (!keepers[stream](text)) execution.truncated = true;
    },
    addResult(result) {
      // Checked before the result is added, so that a single result is always kept, however long it is.
      if (length >= maxResultsLength || results.length === MAX_RESULTS) {
        execution.truncated = true;
        return;
      }
      length += lengthOf(result);
      results.push(result);
      if (result.isMainResult && result.text !== undefined) execution.text = result.text;
    },
  };
}

/** Returns a function that appends text up to the limit, and returns whether all of the text was kept. */
function createTextCollector(pieces: string[], most: number): (text: string) => boolean {
  let left = most;
  let joined = 0;
  return (text) => {
    const kept = text.slice(0, Math.max(0, left));
    left -= kept.length;
    if (kept !== "") pieces.push(kept);
    if (pieces.length - joined === PIECES) pieces.push(pieces.splice(joined++).join(""));
    return kept.length === text.length;
  };
}

function lengthOf(value: unknown): number {
  if (typeof value === "string") return VALUE_CHARACTERS + value.length;
  if (typeof value !== "object" || value === null) return VALUE_CHARACTERS;
  const inner: unknown[] = Array.isArray(value) ? value : Object.entries(value).flat();
  return inner.reduce<number>((sum, one) => sum + lengthOf(one), VALUE_CHARACTERS);
}
