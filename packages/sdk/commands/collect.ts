/** Collects the events of a process into its result. @module */
import { CommandExitError } from "./request.ts";
import { type ObjectRef, TimeoutError } from "../errors.ts";
import type { ProcessEvent } from "./events.ts";
import { addEvent } from "../tracing.ts";
import type { CommandOutput, CommandResult, RunOptions } from "./types.ts";

const MOST_CHARACTERS = 16 << 20;
/** A short string needs more memory than its characters, so this many pieces are joined into one. */
const PIECES = 4096;

type Ended = Extract<ProcessEvent, { type: "end" }>;

/** Keeps a byte order mark at the beginning: it is part of the output. */
const textDecoder = () => new TextDecoder("utf-8", { ignoreBOM: true });

/**
 * Yields output as text. A character that is split between two pieces is yielded in one. Returns how the process ended.
 */
export async function* textOf(
  events: AsyncIterable<ProcessEvent>,
  onData: RunOptions["onData"] = () => {},
): AsyncGenerator<CommandOutput | { stream: "lost" }, Ended> {
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

/** Where the output goes, and what errors need. */
export interface Collecting
  extends Pick<RunOptions, "onData" | "onStdout" | "onStderr" | "check" | "maxOutputLength" | "timeoutMs"> {
  action: string;
  object: ObjectRef;
}

/** Reads all events and returns the result. @throws {@link TimeoutError} or {@link CommandExitError} */
export async function collect(events: AsyncIterable<ProcessEvent>, collecting: Collecting): Promise<CommandResult> {
  const { onData, onStdout, onStderr, maxOutputLength = MOST_CHARACTERS } = collecting;
  const kept = { stdout: createKeeper(maxOutputLength), stderr: createKeeper(maxOutputLength) };
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

interface Keeper {
  add(text: string): void;
  text(): string;
  isFull(): boolean;
}

function createKeeper(most: number): Keeper {
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

function resultOf(end: Ended, stdout: Keeper, stderr: Keeper, lost: boolean, collecting: Collecting): CommandResult {
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
