/** Runs hooks as a process: command line in, listening server out. Arguments need no permission under Deno. @module */
import { parseArgs } from "node:util";
import { createHookApp, STOPPING } from "./app.ts";
import { createHealthApp } from "../process/health.ts";
import type { HookCalls } from "./hook.ts";
import { createLossBudget } from "./lossbudget.ts";
import { createLog, type Log, type LogLevel } from "../process/log.ts";
import { createHookMetrics, type HookMetrics } from "../process/metrics.ts";
import type { Recording } from "./recording.ts";
import { commandLine, exit, serve, type Server, stopOnSignal } from "../process/serve.ts";

/** What every hook takes on its command line. */
export interface HookSettings {
  host: string;
  port: number;
  clusterDomain: string;
  logLevel: LogLevel;
  /** Domains of label keys that claims may add to Pods. */
  labelDomains: string[];
  readinessGraceSeconds: number;
  maxBatchSize: number;
  maxRefillRate: number;
  replenishDelaySeconds: number;
  /** Shortest time between two answers for one pool. */
  poolIntervalMs: number;
  /** What answers may take away per minute, over all parents; 0: no limit. */
  maxLossesPerMinute: number;
  /** Folder that requests and answers are recorded in; empty: none. */
  record: string;
  recordMaxBytes: number;
}

const OPTIONS = {
  port: { type: "string", default: "8080" },
  host: { type: "string", default: "0.0.0.0" },
  "cluster-domain": { type: "string", default: "cluster.local" },
  "log-level": { type: "string", default: "info" },
  "allowed-label-domains": { type: "string", default: "sandbox.users.io" },
  "readiness-grace-seconds": { type: "string", default: "300" },
  "max-batch-size": { type: "string", default: "300" },
  "max-refill-rate": { type: "string", default: "0" },
  "replenish-delay-seconds": { type: "string", default: "0" },
  "pool-interval-ms": { type: "string", default: "1000" },
  "max-losses-per-minute": { type: "string", default: "600" },
  record: { type: "string", default: "" },
  "record-max-bytes": { type: "string", default: "268435456" },
  help: { type: "boolean", default: false },
} as const;

/** What the help of every hook says of its options. */
export const HOOK_OPTIONS = `Options:
  --port N             port to listen on (default 8080; 0 takes a free one)
  --host H             address to listen on (default 0.0.0.0)
  --cluster-domain D   DNS domain of the cluster (default cluster.local)
  --log-level L        debug, info, warn or error (default info)
  --max-losses-per-minute N
                       Pods, volumes and Sandboxes that answers may delete, drain, suspend or let expire per minute,
                       beyond what the spec of their parent asks for; what comes together in five minutes may go at
                       once, and nothing of it is there at the start (default 600; 0: no limit)
  --record DIR         folder to record requests and answers in, for hookbox replay: whole objects, with their values
  --record-max-bytes N size of that folder: of more, the oldest files go (default 268435456)
  --help               this text

Of the hooks for claims and pools:
  --allowed-label-domains D,E    domains of label keys that claims may add to Pods (default sandbox.users.io)

Of the hook for pools:
  --readiness-grace-seconds S    how long a new sandbox may take to be Ready before it is replaced (default 300)
  --max-batch-size N             most sandboxes made or given up at once (default 300)
  --max-refill-rate R            most sandboxes made per second for one pool (default 0: no limit)
  --replenish-delay-seconds S    how long a pool waits to make new ones after it has lost some (default 0)
  --pool-interval-ms N           shortest time between two answers for one pool: what happens to its members meanwhile
                                 is answered together (default 1000; 0: none). Claims do not wait for it
`;

/** Reads the settings and the positional arguments. @throws {TypeError | RangeError} if an argument makes no sense */
export function readSettings(args: string[]): { settings: HookSettings; positionals: string[]; help: boolean } {
  const { values, positionals } = parseArgs({ args, options: OPTIONS, allowPositionals: true });
  const port = Number(values.port);
  if (!Number.isInteger(port) || port < 0 || port > 65535) {
    throw new RangeError(`Cannot listen on port "${values.port}": it is not a number from 0 to 65535`);
  }
  const logLevel = (["debug", "info", "warn", "error"] as const).find((level) => level === values["log-level"]);
  if (!logLevel) throw new RangeError(`Cannot log at level "${values["log-level"]}": use debug, info, warn or error`);
  const settings = {
    host: values.host,
    port,
    clusterDomain: values["cluster-domain"],
    logLevel,
    labelDomains: values["allowed-label-domains"].split(",").map((domain) => domain.trim()).filter(Boolean),
    readinessGraceSeconds: atLeast(0, "readiness-grace-seconds", values["readiness-grace-seconds"]),
    maxBatchSize: Math.floor(atLeast(1, "max-batch-size", values["max-batch-size"])),
    maxRefillRate: atLeast(0, "max-refill-rate", values["max-refill-rate"]),
    replenishDelaySeconds: atLeast(0, "replenish-delay-seconds", values["replenish-delay-seconds"]),
    poolIntervalMs: atLeast(0, "pool-interval-ms", values["pool-interval-ms"]),
    maxLossesPerMinute: atLeast(0, "max-losses-per-minute", values["max-losses-per-minute"]),
    record: values.record,
    recordMaxBytes: atLeast(1_000_000, "record-max-bytes", values["record-max-bytes"]),
  };
  return { settings, positionals, help: values.help };
}

function atLeast(least: number, option: string, text: string): number {
  const value = Number(text);
  if (text.trim() !== "" && Number.isFinite(value) && value >= least) return value;
  throw new RangeError(`Cannot use --${option} "${text}": it is not a number of at least ${least}`);
}

/**
 * Serves hooks in one process: each under `/<name>/…`, with one `/metrics`, `/healthz` and `/readyz`; the only hook of
 * a process also at the root.
 */
export async function serveHooks(hooks: HookCalls[], settings: HookSettings, onlyOne: boolean): Promise<Server> {
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
async function startRecording(settings: HookSettings, log: Log, metrics: HookMetrics): Promise<Recording> {
  if (settings.record === "") return { record: () => {}, close: () => Promise.resolve() };
  const { openRecording } = await import("./recording.ts");
  const { host: _, port: __, logLevel: ___, record: folder, recordMaxBytes: maxBytes, ...ofHooks } = settings;
  return await openRecording({ folder, maxBytes, settings: ofHooks, log, unrecorded: metrics.unrecorded });
}

/** Runs one hook until a signal: the whole of a hook's main.ts. */
export async function runHook(name: string, make: (settings: HookSettings) => HookCalls): Promise<void> {
  await main(
    `hooks/${name}/main.ts [options]\n\nServes the ${name} hook.`,
    ({ settings }) => serveHooks([make(settings)], settings, true),
  );
}

/** Reads the command line, starts, and stops on a signal; a bad command line or a taken port ends with one sentence. */
export async function main(
  usage: string,
  start: (read: ReturnType<typeof readSettings>) => Promise<Server>,
): Promise<void> {
  try {
    const read = readSettings(commandLine());
    if (read.help) return print(`Usage: ${usage}\n\n${HOOK_OPTIONS}`.trimEnd());
    const server = await start(read);
    stopOnSignal(() => server.stop());
  } catch (error) {
    print(error instanceof Error ? error.message : String(error));
    exit(1);
  }
}

function print(text: string): void {
  // deno-lint-ignore no-console -- the one way to the terminal that both runtimes have without a permission
  console.log(text);
}
