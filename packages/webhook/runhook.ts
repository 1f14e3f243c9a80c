/** Runs hooks as a process: command line in, listening server out. Arguments need no permission under Deno. @module */
import { createHookApp, STOPPING } from "./app.ts";
import { createHealthApp } from "../process/health.ts";
import type { HookCalls } from "./hook.ts";
import { createLossBudget } from "./lossbudget.ts";
import { createLog, type Log, type LogLevel } from "../process/log.ts";
import { createHookMetrics, type HookMetrics } from "../process/metrics.ts";
import { type CommandLine, numberOption, type Options, optionsHelp, readOptions, textOption } from "./options.ts";
import type { Recording } from "./recording.ts";
import { commandLine, exit, serve, type Server, stopOnSignal } from "../process/serve.ts";

/** What the server of any hook takes on its command line. */
export interface ServerSettings {
  host: string;
  port: number;
  logLevel: LogLevel;
  /** What answers may take away per minute, over all parents; 0: no limit. */
  maxLossesPerMinute: number;
  /** Folder that requests and answers are recorded in; empty: none. */
  record: string;
  recordMaxBytes: number;
}

/** The options of the server of any hook. */
export const SERVER_OPTIONS: Options<ServerSettings> = {
  port: {
    ...{ flag: "port", placeholder: "N", default: "8080", help: "port to listen on; 0 takes a free one" },
    read(text) {
      const port = Number(text);
      if (Number.isInteger(port) && port >= 0 && port <= 65535) return port;
      throw new RangeError(`Cannot listen on port "${text}": it is not a number from 0 to 65535`);
    },
  },
  host: textOption({ flag: "host", placeholder: "H", default: "0.0.0.0", help: "address to listen on" }),
  logLevel: {
    ...{ flag: "log-level", placeholder: "L", default: "info", help: "debug, info, warn or error" },
    read(text) {
      const level = (["debug", "info", "warn", "error"] as const).find((each) => each === text);
      if (level) return level;
      throw new RangeError(`Cannot log at level "${text}": use debug, info, warn or error`);
    },
  },
  maxLossesPerMinute: numberOption({
    ...{ flag: "max-losses-per-minute", placeholder: "N", default: "600" },
    help:
      "most Pods, volumes and Sandboxes that answers may delete, drain, suspend or expire per minute, beyond what " +
      "the parent's spec asks for; unused allowance of up to five minutes accumulates, starting from zero; 0: no limit",
  }),
  record: textOption({
    ...{ flag: "record", placeholder: "DIR", default: "" },
    help: "folder to record requests and answers in, for hookbox replay: whole objects, with their values",
  }),
  recordMaxBytes: numberOption({
    ...{ flag: "record-max-bytes", placeholder: "N", default: "268435456", least: 1_000_000 },
    help: "size of that folder: of more, the oldest files go",
  }),
};

/**
 * Serves hooks in one process: each under `/<name>/…`, with one `/metrics`, `/healthz` and `/readyz`; the only hook of
 * a process also at the root.
 */
export async function serveHooks(hooks: HookCalls[], settings: ServerSettings, onlyOne: boolean): Promise<Server> {
  const log = createLog(settings.logLevel);
  const metrics = createHookMetrics();
  const budget = createLossBudget({ perMinute: settings.maxLossesPerMinute, now: () => performance.now() });
  const recording = await startRecording(settings, log, metrics);
  let ready = true;
  const app = createHealthApp(() => ready, metrics, STOPPING);
  for (const hook of hooks) {
    const hookApp = createHookApp(hook, { log, metrics, budget, ready: () => ready, record: recording.record });
    app.route(`/${hook.name}`, hookApp);
    if (onlyOne) app.route("/", hookApp);
  }
  const server = await serve(app, { host: settings.host, port: settings.port, log, onStopping: () => ready = false });
  return { ...server, stop: () => server.stop().then(recording.close) };
}

/** Files and their permissions are none of a hook's business until somebody asks for a recording. */
async function startRecording(settings: ServerSettings, log: Log, metrics: HookMetrics): Promise<Recording> {
  if (settings.record === "") return { record: () => {}, close: () => Promise.resolve() };
  const { openRecording } = await import("./recording.ts");
  const { host: _, port: __, logLevel: ___, record: folder, recordMaxBytes: maxBytes, ...ofHooks } = settings;
  return await openRecording({ folder, maxBytes, settings: ofHooks, log, unrecorded: metrics.unrecorded });
}

/** What any of our hooks takes: each ignores what is another's, so that all can be started alike. */
export const HOOK_FLAGS = [
  ...["cluster-domain", "allowed-label-domains"],
  ...["readiness-grace-seconds", "max-batch-size", "max-refill-rate", "replenish-delay-seconds", "pool-interval-ms"],
] as const;

/**
 * Runs one hook until a signal: the whole of a hook's main.ts.
 *
 * @param options its own, beside those of the server
 */
export async function runHook<Config>(
  name: string,
  options: Options<Config>,
  make: (config: Config) => HookCalls,
): Promise<void> {
  const all = { ...SERVER_OPTIONS, ...options } as Options<ServerSettings & Config>;
  await runServer({
    usage: `hooks/${name}/main.ts [options]\n\nServes the ${name} hook.`,
    help: helpOf([{ name, options }]),
    read: (args) => readOptions<ServerSettings & Config>(args, all, HOOK_FLAGS),
    start: ({ settings }) => serveHooks([make(settings)], settings, true),
  });
}

/** Writes the help of a process that runs these hooks. */
export function helpOf(hooks: readonly { name: string; options: Options<object> }[]): string {
  const own = hooks.filter(({ options }) => Object.keys(options).length > 0);
  const parts = own.map(({ name, options }) => `Of the hook ${name}:\n${optionsHelp(options)}`);
  return [`Options:\n${optionsHelp(SERVER_OPTIONS)}\n  --help                         this text`, ...parts].join(
    "\n\n",
  );
}

interface Program<Line> {
  /** Without its first word. */
  usage: string;
  help: string;
  /** Makes of the arguments what it starts with. @throws {Error} if they make no sense */
  read(args: string[]): Line;
  start(line: Line): Promise<Server>;
}

/**
 * Reads the command line, starts, and stops on a signal; a bad command line (code 2) or a taken port (code 1) ends with
 * one sentence.
 */
export async function runServer<Line extends Pick<CommandLine<unknown>, "help">>(
  { usage, help, read, start }: Program<Line>,
): Promise<void> {
  let code = 2;
  try {
    const line = read(commandLine());
    code = 1;
    if (line.help) return print(`Usage: ${usage}\n\n${help}`);
    const server = await start(line);
    stopOnSignal(() => server.stop());
  } catch (error) {
    complain(error instanceof Error ? error.message : String(error));
    exit(code);
  }
}

function print(text: string): void {
  // deno-lint-ignore no-console -- the one way to the terminal that both runtimes have without a permission
  console.log(text);
}

function complain(text: string): void {
  // deno-lint-ignore no-console -- the same, to the other stream
  console.error(text);
}
