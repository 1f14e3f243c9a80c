/** Sends recorded requests to hooks, and reports which decisions differ; implements `hookbox replay`. @module */
import { parseJson } from "../../api/objects/exactjson.ts";
import process from "node:process";
import type { RecordedExchange } from "../../webhook/exchange.ts";
import type { HookCalls } from "../../webhook/hook.ts";
import { replyOf } from "../../webhook/reply.ts";
import { answerChanges, type Change } from "./compare.ts";
import { loadHooks } from "./hooks.ts";
import { readRecordings, UnreadableError } from "./read.ts";
import { renderReplay } from "./render.ts";
import { createTally, type ReplaySummary } from "./tally.ts";

/** Options of a replay. */
export interface ReplayOptions {
  /** Files of recordings, or folders with such files. */
  paths: readonly string[];
  /** Modules of hooks to use instead of this checkout's hooks. Requests of other hooks are left out. */
  hooks?: readonly string[];
  /** @default {"text"} */
  output?: "text" | "json";
  /** Largest number of kinds of difference in the text. @default {20} */
  mostKinds?: number;
  /** @default {standard output} */
  write?: (text: string) => void;
  /** @default {standard error} */
  writeError?: (text: string) => void;
}

/**
 * Runs a replay, and returns the exit code.
 *
 * | code | meaning |
 * |---|---|
 * | 0 | no decision differs |
 * | 1 | some decisions differ |
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
 * Replays one request after another. Each hook gets the time of the original request, and the settings of that time.
 *
 * @throws {UnreadableError}
 */
export async function replay(
  { paths, hooks: modules = [] }: Pick<ReplayOptions, "paths" | "hooks">,
): Promise<ReplaySummary> {
  const make = await loadHooks(modules);
  const tally = createTally();
  let hooks = new Map<string, HookCalls>();
  for await (const line of readRecordings(paths)) {
    if ("header" in line) {
      hooks = make(line.header.settings);
      continue;
    }
    const { exchange, place } = line;
    const hook = hooks.get(exchange.hook);
    if (hook) tally.add(exchange, place, changesOf(hook, exchange));
    else tally.skip(exchange.hook);
  }
  return tally.summary();
}

function changesOf(hook: HookCalls, exchange: RecordedExchange): Change[] {
  const { endpoint, at, request, status, answer } = exchange;
  // The hook gets the request itself. If it changes the request, the comparison must not be affected.
  const reply = replyOf(hook, endpoint, { request }, new Date(at));
  const after = { status: reply.status, body: parseJson(reply.text) };
  return answerChanges(request, { status, body: answer }, after);
}

function writeOut(text: string): void {
  process.stdout.write(text);
}

function writeErr(text: string): void {
  process.stderr.write(text);
}
