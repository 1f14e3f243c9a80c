/** Collects the events of a process into its result, or into the error of a failed command. @module */
import { type ErrorCode, type ObjectRef, SandboxError, TimeoutError } from "../errors.ts";
import { addEvent } from "../tracing.ts";
import type { CommandOutput, CommandResult, RunOptions } from "./commands.ts";
import type { ProcessEvent } from "./process.ts";

const DEFAULT_MAX_CHARACTERS = 16 << 20;
/** A short string needs more memory than its characters, so this many pieces are joined into one. */
const PIECES = 4096;

type EndEvent = Extract<ProcessEvent, { type: "end" }>;

/** Keeps a byte order mark at the beginning: it is part of the output. */
const textDecoder = () => new TextDecoder("utf-8", { ignoreBOM: true });

/**
 * Yields output as text. A character that is split between two pieces is yielded in one. Returns how the process ended.
 *
 * @internal
 */
export async function* textOf(
  events: AsyncIterable<ProcessEvent>,
  onData: RunOptions["onData"] = () => {},
): AsyncGenerator<CommandOutput | { stream: "lost" }, EndEvent> {
  const decoders = { stdout: textDecoder(), stderr: textDecoder() };
  for await (const event of events) {
    if (event.type === "output") {
      await onData(event.bytes, event.stream);
      const text = decoders[event.stream].decode(event.bytes, { stream: true });
      if (text !== "") yield { stream: event.stream, text };
    } else if (event.type === "lost") yield { stream: "lost" };
    else if (event.type === "end") {
      for (const stream of ["stdout", "stderr"] as const) {
        const text = decoders[stream].decode();
        if (text !== "") yield { stream, text };
      }
      return event;
    }
  }
  throw new TypeError("Cannot read a process: its events have no end");
}

/** Where the output goes, and what errors need. @internal */
export interface CollectOptions
  extends Pick<RunOptions, "onData" | "onStdout" | "onStderr" | "check" | "maxOutputLength" | "timeoutMs"> {
  action: string;
  object: ObjectRef;
}

/**
 * Reads all events and returns the result.
 *
 * @throws {@link TimeoutError} or {@link CommandExitError}
 * @internal
 */
export async function collect(events: AsyncIterable<ProcessEvent>, collecting: CollectOptions): Promise<CommandResult> {
  const { onData, onStdout, onStderr, maxOutputLength = DEFAULT_MAX_CHARACTERS } = collecting;
  const kept = { stdout: createTextCollector(maxOutputLength), stderr: createTextCollector(maxOutputLength) };
  let lost = false;
  let isFirst = true;
  const texts = textOf(events, onData);
  for (;;) {
    const { done, value } = await texts.next();
    if (done) return resultOf(value, kept.stdout, kept.stderr, lost, collecting);
    if (value.stream === "lost") lost = true;
    else {
      if (isFirst) addEvent("first output");
      isFirst = false;
      kept[value.stream].add(value.text);
      await (value.stream === "stdout" ? onStdout : onStderr)?.(value.text);
    }
  }
}

interface TextCollector {
  add(text: string): void;
  text(): string;
  isFull(): boolean;
}

function createTextCollector(most: number): TextCollector {
  let kept = "";
  let pieces: string[] = [];
  let left = most;
  let full = false;
  const join = () => {
    kept += pieces.join("");
    pieces = [];
  };
  return {
    add(text) {
      full ||= text.length > left;
      if (left > 0) pieces.push(text.slice(0, left));
      left -= text.length;
      if (pieces.length === PIECES) join();
    },
    text() {
      join();
      return kept;
    },
    isFull: () => full,
  };
}

function resultOf(
  end: EndEvent,
  stdout: TextCollector,
  stderr: TextCollector,
  lost: boolean,
  collecting: CollectOptions,
): CommandResult {
  const { action, object, timeoutMs, check } = collecting;
  const result: CommandResult = {
    exitCode: end.exitCode,
    signal: end.signal || undefined,
    stdout: stdout.text(),
    stderr: stderr.text(),
    truncated: lost || stdout.isFull() || stderr.isFull(),
  };
  if (end.timedOut) {
    const limit = timeoutMs === undefined ? "its time limit" : `${timeoutMs} ms`;
    throw new TimeoutError(`Cannot ${action}: it was killed after ${limit}`, {
      object,
      remedy: "Raise `timeoutMs`, or run it in the background.",
    });
  }
  if (check && end.exitCode !== 0) throw new CommandExitError(action, result, object);
  return result;
}

/** The command ended with an exit code other than 0, and `check` was set. The error also contains the result. */
export class CommandExitError extends SandboxError implements CommandResult {
  override readonly name: string = "CommandExitError";
  override readonly code: ErrorCode = "COMMAND_FAILED";
  readonly exitCode: number;
  readonly signal: string | undefined;
  readonly stdout: string;
  readonly stderr: string;
  readonly truncated: boolean;

  constructor(action: string, result: CommandResult, object: ObjectRef) {
    const { exitCode, signal, stdout, stderr, truncated } = result;
    const how = signal === undefined ? `exit code ${exitCode}` : signal;
    const lastLine = stderr.trimEnd().split("\n").at(-1) ?? "";
    super(`Cannot ${action}: ${how}${lastLine && `: ${lastLine.slice(0, 500)}`}`, {
      object,
      reason: how,
    });
    this.exitCode = exitCode;
    this.signal = signal;
    this.stdout = stdout;
    this.stderr = stderr;
    this.truncated = truncated;
  }
}
