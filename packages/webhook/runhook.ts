/**
 * Runs hooks as a process: reads the command line and starts the server. Under Deno, reading arguments needs no
 * permission.
 * @module
 */
import { createHookApp, STOPPING } from "./app.ts";
import { createHealthApp } from "../process/observability.ts";
import type { HookCalls } from "./hook.ts";
import { createDeletionBudget } from "../process/deletionbudget.ts";
import { createLog, type Log } from "../process/log.ts";
import { createHookMetrics, type HookMetrics } from "./telemetry.ts";
import type { Recording } from "./recording.ts";
import { SERVER_FLAGS, type ServerSettings } from "./serveroptions.ts";
import { helpOf } from "../process/flaghelp.ts";
import { type Environment, type Flags, type Program, readCommandLine, type Values } from "../process/flags.ts";
import { startTracing } from "../process/tracing.ts";
import { commandLine, exit, stopOnSignal, variable } from "../process/runprocess.ts";
import { serve, type Server } from "../process/serve.ts";

/** A server of hooks, and the port of its metrics if they have a port of their own. */
export interface HookServer extends Server {
  metricsPort?: number;
}

/**
 * Serves hooks in one process, each under `/<name>/…`, with a common `/metrics`, `/healthz` and `/readyz`. If `onlyOne`
 * is true, the hook is also served at the root.
 */
export async function serveHooks(hooks: HookCalls[], settings: ServerSettings, onlyOne: boolean): Promise<HookServer> {
  const log = createLog(settings.logLevel);
  const { otlpEndpoint: endpoint } = settings;
  const metrics = createHookMetrics(endpoint !== undefined);
  const service = onlyOne ? `hookbox-${hooks[0]?.name}` : "hookbox-hooks";
  const tracing = await startTracing({ service, endpoint, log });
  const budget = createDeletionBudget({ perMinute: settings.maxLossesPerMinute, now: () => performance.now() });
  const recording = await startRecording(settings, log, metrics);
  let ready = true;
  const servesMetrics = settings.metricsPort === undefined;
  const app = createHealthApp(() => ready, servesMetrics ? metrics : undefined, STOPPING);
  for (const hook of hooks) {
    const hookApp = createHookApp(hook, {
      ...{ log, metrics, servesMetrics, budget, ready: () => ready, record: recording.record },
      tracer: tracing?.tracer,
    });
    app.route(`/${hook.name}`, hookApp);
    if (onlyOne) app.route("/", hookApp);
  }
  const { host, port, metricsPort } = settings;
  const server = await serve(app, { host, port, log, onStopping: () => ready = false });
  const scraped = metricsPort === undefined
    ? undefined
    : await serve(createHealthApp(() => ready, metrics, STOPPING), { host, port: metricsPort, log });
  const stop = async () => {
    await server.stop();
    await scraped?.stop();
    await recording.close();
    await tracing?.stop();
  };
  return { ...server, stop, ...(scraped ? { metricsPort: scraped.port } : {}) };
}

/** Settings of the process only. A recording contains all other settings, so that a replay can compute the answers again. */
const OF_THE_PROCESS = ["host", "port", "metricsPort", "logLevel", "otlpEndpoint", "record", "recordMaxBytes"];

/** Loads the code that writes files only if a recording is requested. Without one, a hook needs no permission for files. */
async function startRecording(settings: ServerSettings, log: Log, metrics: HookMetrics): Promise<Recording> {
  const { record: folder, recordMaxBytes: maxBytes } = settings;
  if (folder === "") return { record: () => {}, close: () => Promise.resolve() };
  const { openRecording } = await import("./recording.ts");
  const ofHooks = Object.fromEntries(Object.entries(settings).filter(([name]) => !OF_THE_PROCESS.includes(name)));
  return await openRecording({ folder, maxBytes, settings: ofHooks, log, unrecorded: metrics.unrecorded });
}

/**
 * Runs one hook until a signal arrives. A hook's main.ts only calls this.
 *
 * @param own the options that apply to this hook
 * @param all the options of all hooks and of their server, all of which the process accepts
 */
export async function runHook<All extends Flags & typeof SERVER_FLAGS>(
  name: string,
  own: Flags,
  all: All,
  make: (settings: Values<All>) => HookCalls,
): Promise<void> {
  const program: Program = {
    name: `hooks/${name}/main.ts`,
    about: `Serves the ${name} hook. The options of other hooks are accepted, too, and have no effect.`,
    flags: { ...SERVER_FLAGS, ...own },
  };
  await runServer(program, {
    read: (args, env) => readCommandLine({ flags: all }, args, env)?.values,
    start: (settings) => serveHooks([make(settings)], settings as ServerSettings, true),
  });
}

/** How to start the server of a program. */
interface Making<Line> {
  /** Converts the arguments; undefined: they ask for help. @throws {Error} if they are invalid */
  read(args: string[], env: Environment): Line | undefined;
  start(line: Line): Promise<Server>;
}

/**
 * Reads the command line, starts the server, and stops on a signal. If the command line is invalid (exit code 2) or the
 * port is in use (exit code 1), the process ends with one sentence.
 */
export async function runServer<Line extends object>(program: Program, { read, start }: Making<Line>): Promise<void> {
  let code = 2;
  try {
    const line = read(commandLine(), variable);
    code = 1;
    if (!line) return print(helpOf(program).trimEnd());
    const starting = Promise.withResolvers<Server>();
    // Before the server listens: from then on, the parent process may end this process.
    stopOnSignal(async () => await (await starting.promise).stop());
    starting.resolve(await start(line));
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
