/** Runs recorded requests through hooks and says which decisions differ: what `hookbox replay` does. @module */
import process from "node:process";
import { MAX_UNEXPLAINED_DELETIONS } from "../lib/guard.ts";
import type { RecordedExchange, RecordingHeader } from "../lib/exchange.ts";
import type { HookCalls } from "../lib/hook.ts";
import { replyOf } from "../lib/reply.ts";
import { answerChanges, type Change } from "./compare.ts";
import { loadHooks, type MakeHooks } from "./hooks.ts";
import { readRecordings, UnreadableError } from "./read.ts";
import { renderReplay } from "./render.ts";
import { createTally, type ReplaySummary } from "./tally.ts";

/** What to replay, and how. */
export interface ReplayOptions {
  /** Files of recordings, or folders of them. */
  paths: readonly string[];
  /** Modules of hooks to replay instead of this checkout's; the requests of other hooks are then left out. */
  hooks?: readonly string[];
  /** @default {"text"} */
  output?: "text" | "json";
  /** Kinds of difference that the text shows. @default {20} */
  mostKinds?: number;
  /** How long after a gap in the recording differences are not counted. @default {60} */
  settleSeconds?: number;
  /** @default {standard output} */
  write?: (text: string) => void;
  /** @default {standard error} */
  writeError?: (text: string) => void;
}

/** Hooks as they stood at one point of a recorded process. */
interface Standing {
  process: string;
  file: number;
  hooks: Map<string, HookCalls>;
  /** Milliseconds since the epoch until which their memories are not what they were; undefined: the next request says. */
  unsettledUntil: number | undefined;
}

/**
 * Replays, and returns the exit code.
 *
 * | code | when |
 * |---|---|
 * | 0 | no decision differs |
 * | 1 | some do |
 * | 2 | a recording or a hook cannot be read, or there is no request to replay |
 */
export async function runReplay(options: ReplayOptions): Promise<0 | 1 | 2> {
  const { output = "text", mostKinds = 20 } = options;
  const { write = writeOut, writeError = writeErr } = options;
  try {
    const summary = await replay(options);
    if (Object.keys(summary.requests).length === 0) {
      const others = Object.keys(summary.skipped).join(", ");
      throw new UnreadableError(`Cannot replay: the recording has no request${others && `, but of ${others}`}`);
    }
    write(output === "json" ? `${JSON.stringify(summary, null, 2)}\n` : renderReplay(summary, mostKinds));
    return summary.differing === 0 ? 0 : 1;
  } catch (error) {
    if (!(error instanceof UnreadableError)) throw error;
    writeError(`${error.message}\n`);
    return 2;
  }
}

/**
 * Replays, one request at a time, each with the time at which it was asked. Hooks begin with empty memories where a
 * process of the recording begins, and are asked in the order in which they were asked then.
 *
 * @throws {UnreadableError}
 */
export async function replay(
  { paths, hooks = [], settleSeconds = 60 }: Pick<ReplayOptions, "paths" | "hooks" | "settleSeconds">,
): Promise<ReplaySummary> {
  const make = await loadHooks(hooks);
  const tally = createTally();
  let standing: Standing | undefined;
  for await (const line of readRecordings(paths)) {
    if ("header" in line) {
      standing = standingAt(line.header, standing, make);
      continue;
    }
    const { exchange, place } = line;
    const hook = standing?.hooks.get(exchange.hook);
    if (!standing || !hook) {
      tally.skip(exchange.hook);
      continue;
    }
    const at = Date.parse(exchange.at);
    standing.unsettledUntil ??= at + settleSeconds * 1000;
    tally.add(exchange, place, changesOf(hook, exchange), at >= standing.unsettledUntil);
  }
  return tally.summary();
}

/** Memories go on from file to file of one process, and begin anew where anything is missing. */
function standingAt(header: RecordingHeader, before: Standing | undefined, make: MakeHooks): Standing {
  const { process, file, gap, settings } = header;
  const goesOn = before?.process === process && before.file + 1 === file && !gap;
  if (goesOn) return { ...before, file };
  return { process, file, hooks: make(settings), unsettledUntil: file === 1 && !gap ? -Infinity : undefined };
}

function changesOf(hook: HookCalls, exchange: RecordedExchange): Change[] {
  const { endpoint, at, request, status, answer } = exchange;
  // The hook reads the request as it came: one that writes to it must not change what it is compared with.
  const reply = replyOf(hook, endpoint, JSON.stringify(request), new Date(at), MAX_UNEXPLAINED_DELETIONS);
  const after = { status: reply.status, body: JSON.parse(reply.text) as unknown };
  return answerChanges(request, { status, body: answer }, after);
}

function writeOut(text: string): void {
  process.stdout.write(text);
}

function writeErr(text: string): void {
  process.stderr.write(text);
}
