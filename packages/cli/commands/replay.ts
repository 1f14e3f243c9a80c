/** `hookbox replay`: sends recorded requests to the hooks of this version, and shows which decisions differ. @module */
import { resolve } from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import type { Command } from "commander";
import { DEFAULT_SETTINGS, makeHooks } from "../../../hooks/all.ts";
import type { HookSettings } from "../../../hooks/flags.ts";
import { parseJson } from "../../api/objects/json.ts";
import type { RecordedExchange } from "../../webhook/exchange.ts";
import type { HookCalls } from "../../webhook/hook.ts";
import { replyOf } from "../../webhook/reply.ts";
import type { CommandContext } from "../commandcontext.ts";
import { Ended } from "../failure.ts";
import { collect, wholeNumber } from "../options.ts";
import { formatOf } from "../output.ts";
import { answerChanges, type Change } from "../replay/compare.ts";
import { readRecordings, UnreadableError } from "../replay/read.ts";
import { createTally, renderReplay, type ReplaySummary } from "../replay/tally.ts";

interface ReplayOptions {
  hook: string[];
  output?: string;
  kinds: string;
}

const MORE = `
"hookbox serve --record DIR" makes recordings. Exit codes: 0 no decision differs, 1 some differ, 2 cannot be read.

Example:
  hookbox replay recordings/ --hook ./hooks/sandbox/hook.ts`;

export function defineReplay(command: Command, context: CommandContext): void {
  command
    .argument("<paths...>", "recordings, or folders of recordings")
    .option(
      "--hook <module>",
      "module with a hook to run instead of this version's hooks; can be repeated",
      collect,
      [],
    )
    .option("-o, --output <format>", "json")
    .option("--kinds <n>", "largest number of kinds of difference to show", "20")
    .addHelpText("after", MORE)
    .action(async (paths: string[], { hook, output, kinds }: ReplayOptions) => {
      const format = formatOf(output, ["json"]);
      const code = await runReplay({
        paths,
        hooks: hook,
        output: format === "json" ? "json" : "text",
        mostKinds: wholeNumber("--kinds", kinds),
        write: (text) => context.stdout.write(text),
        writeError: (text) => context.stderr.write(text),
      });
      if (code !== 0) throw new Ended(code);
    });
}

/** Options of a replay. */
export interface ReplayRequest {
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
export async function runReplay(options: ReplayRequest): Promise<0 | 1 | 2> {
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
  { paths, hooks: modules = [] }: Pick<ReplayRequest, "paths" | "hooks">,
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

/** Creates all hooks. @param settings from the header of the recording */
type MakeHooks = (settings: Record<string, unknown>) => Map<string, HookCalls>;

type Factory = (settings: HookSettings) => HookCalls;

/**
 * Loads hooks from modules. A module exports functions whose names end in `Hook`, as `hooks/<name>/hook.ts` does, or
 * one as its default export. Without modules, loads all hooks of this checkout.
 *
 * @throws {UnreadableError} if a module cannot be loaded or exports no hook
 */
export async function loadHooks(modules: readonly string[]): Promise<MakeHooks> {
  if (modules.length === 0) return (settings) => named(makeHooks([], completed(settings)));
  const factories = (await Promise.all(modules.map(factoriesOf))).flat();
  return (settings) => named(factories.map((make) => make(completed(settings))));
}

async function factoriesOf(module: string): Promise<Factory[]> {
  const exported: Record<string, unknown> = await import(pathToFileURL(resolve(module)).href).catch((error: Error) => {
    throw new UnreadableError(`Cannot load hook "${module}": ${error.message}`, { cause: error });
  });
  const factories = Object.entries(exported).filter(([name, value]) =>
    typeof value === "function" && /Hook$|^default$/.test(name)
  ).map(([, value]) => value as Factory);
  if (factories.length > 0) return factories;
  throw new UnreadableError(`Cannot load hook "${module}": it exports no function whose name ends in Hook`);
}

/** Names of settings in recordings of version 0.2.0. */
const FORMER_NAMES: Record<string, keyof HookSettings> = { labelDomains: "allowedLabelDomains" };

/** Adds default values for settings that the recording lacks. */
function completed(settings: Record<string, unknown>): HookSettings {
  const renamed = Object.entries(settings).map(([name, value]) => [FORMER_NAMES[name] ?? name, value]);
  return { ...DEFAULT_SETTINGS, ...Object.fromEntries(renamed) };
}

function named(hooks: HookCalls[]): Map<string, HookCalls> {
  return new Map(hooks.map((hook) => [hook.name, hook]));
}
