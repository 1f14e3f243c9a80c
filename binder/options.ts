/** The binder's command line, and what of it the keeper shares. Reads nothing but its arguments. @module */
import { parseArgs } from "node:util";
import { DEFAULT_LABEL_DOMAINS } from "../claims/podmetadata.ts";
import { LOG_LEVELS, type LogLevel } from "../lib/log.ts";

/** How claims are served. */
export interface BindingOptions {
  /** Claims that are served at once. */
  workers: number;
  /** Longest time until a pool is told of members that are missing, in milliseconds. */
  refillDelayMs: number;
}

/** What the command line says; absent means that the environment decides. */
export interface BinderOptions extends BindingOptions {
  kubeconfig: string | undefined;
  context: string | undefined;
  /** Namespace of the Lease. */
  namespace: string | undefined;
  leaderElection: boolean;
  /** 0: none. */
  port: number;
  host: string | undefined;
  logLevel: LogLevel;
  /** Domains of label keys that claims may use. */
  labelDomains: string[];
  help: boolean;
}

/** Options that the keeper has, too, for the binder in its process. */
export const BINDING_OPTIONS = {
  "binder-workers": { type: "string", default: "40" },
  "refill-delay-seconds": { type: "string", default: "5" },
} as const;

export const BINDING_HELP =
  `  --binder-workers N     claims that are served at once (default 40); of one namespace half as many
  --refill-delay-seconds S
                         longest time until a pool that has handed over members makes new ones (default 5). It is
                         shorter where the pool runs low, or where no claims wait
`;

const OPTIONS = {
  kubeconfig: { type: "string" },
  context: { type: "string" },
  namespace: { type: "string" },
  "no-leader-election": { type: "boolean", default: false },
  ...BINDING_OPTIONS,
  port: { type: "string", default: "0" },
  host: { type: "string" },
  "log-level": { type: "string", default: "info" },
  "allowed-label-domains": { type: "string", default: DEFAULT_LABEL_DOMAINS.join() },
  help: { type: "boolean", default: false },
} as const;

export const HELP = `Usage: binder/main.ts [options]

Gives claims their Sandboxes: a member of the claim's pool, or one made for it. A second binder is ready to take over
within seconds. The keeper runs a binder in its own process unless it is told --no-binder.

Options:
  --kubeconfig F         which cluster (default: the one this Pod runs in)
  --context C            context of the kubeconfig (default: its current one)
  --namespace N          namespace of the Lease hookbox-binder (default: this Pod's; with --kubeconfig hookbox-system,
                         or default where that does not exist)
  --no-leader-election   act at once, Lease or not: for a single binder
${BINDING_HELP}  --port P               port for /healthz, /readyz and /metrics (default 0: none)
  --host H               address to listen on (default 0.0.0.0; with --kubeconfig 127.0.0.1)
  --log-level L          debug, info, warn or error (default info)
  --allowed-label-domains D,E
                         domains of label keys that claims may use, as the hook for claims has them
                         (default ${DEFAULT_LABEL_DOMAINS.join()})
`;

/** Reads the arguments. @throws {TypeError | RangeError} if one makes no sense */
export function readOptions(args: string[]): BinderOptions {
  const { values } = parseArgs({ args, options: OPTIONS });
  const { kubeconfig, context, namespace, host, help } = values;
  if (context !== undefined && kubeconfig === undefined) {
    throw new RangeError(`Cannot use context "${context}": it needs --kubeconfig`);
  }
  const logLevel = LOG_LEVELS.find((level) => level === values["log-level"]);
  if (!logLevel) throw new RangeError(`Cannot log at level "${values["log-level"]}": use debug, info, warn or error`);
  return {
    ...{ kubeconfig, context, namespace, host, help, logLevel, ...readBindingOptions(values) },
    leaderElection: !values["no-leader-election"],
    labelDomains: values["allowed-label-domains"].split(",").map((domain) => domain.trim()).filter(Boolean),
    port: wholeNumber(values.port, "listen on port", 0, 65535),
  };
}

/** Reads {@link BINDING_OPTIONS}. @throws {RangeError} if one makes no sense */
export function readBindingOptions(values: Record<keyof typeof BINDING_OPTIONS, string>): BindingOptions {
  return {
    workers: wholeNumber(values["binder-workers"], "serve claims at once:", 1, 1000),
    refillDelayMs: wholeNumber(values["refill-delay-seconds"], "delay refills for seconds", 0, 3600) * 1000,
  };
}

/** Reads a whole number. @throws {RangeError} if it is none, or not in the range */
export function wholeNumber(text: string, action: string, least: number, most: number): number {
  const value = Number(text);
  if (text.trim() !== "" && Number.isInteger(value) && value >= least && value <= most) return value;
  throw new RangeError(`Cannot ${action} "${text}": it is not a whole number from ${least} to ${most}`);
}
