/** The keeper's command line. Reads nothing but its arguments. @module */
import { parseArgs } from "node:util";
import { DEFAULT_LABEL_DOMAINS } from "../claims/podmetadata.ts";
import { BINDING_HELP, BINDING_OPTIONS, readBindingOptions, wholeNumber } from "../binder/options.ts";
import { LOG_LEVELS, type LogLevel } from "../lib/log.ts";

/** What the command line says; absent means that the environment decides. */
export interface KeeperOptions {
  kubeconfig: string | undefined;
  context: string | undefined;
  /** Namespace of the Lease. */
  namespace: string | undefined;
  leaderElection: boolean;
  /** Whether the binder runs in this process, too; its Lease is its own. */
  binder: boolean;
  /** Claims that the binder serves at once. */
  workers: number;
  /** Longest time until the binder tells a pool of members that are missing, in milliseconds. */
  refillDelayMs: number;
  /** False: claims have no Events. */
  claimEvents: boolean;
  leaseSeconds: number;
  /** 0: none. */
  port: number;
  host: string | undefined;
  logLevel: LogLevel;
  /** Domains of label keys that claims may use. */
  labelDomains: string[];
  help: boolean;
}

const OPTIONS = {
  kubeconfig: { type: "string" },
  context: { type: "string" },
  namespace: { type: "string" },
  "no-leader-election": { type: "boolean", default: false },
  "lease-seconds": { type: "string", default: "15" },
  "no-binder": { type: "boolean", default: false },
  ...BINDING_OPTIONS,
  "disable-claim-events": { type: "boolean", default: false },
  port: { type: "string", default: "0" },
  host: { type: "string" },
  "log-level": { type: "string", default: "info" },
  "allowed-label-domains": { type: "string", default: DEFAULT_LABEL_DOMAINS.join() },
  help: { type: "boolean", default: false },
} as const;

export const HELP = `Usage: keeper/main.ts [options]

Does what a hook cannot: deletes Sandboxes and claims that have expired, finds out why children do not come into being
and why claims are not served, and hands over what another controller has left. Runs the binder, too, which gives claims
their Sandboxes.

Options:
  --kubeconfig F         which cluster (default: the one this Pod runs in)
  --context C            context of the kubeconfig (default: its current one)
  --namespace N          namespace of the Lease hookbox-keeper (default: this Pod's; with --kubeconfig hookbox-system,
                         or default where that does not exist)
  --no-leader-election   act at once, Lease or not: for a single keeper
  --lease-seconds S      how long others wait for a leader that is gone (default 15, at least 3)
  --no-binder            leave it to another process to give claims their Sandboxes: binder/main.ts
${BINDING_HELP}  --disable-claim-events record no Events of claims
  --port P               port for /healthz, /readyz and /metrics (default 0: none)
  --host H               address to listen on (default 0.0.0.0; with --kubeconfig 127.0.0.1)
  --log-level L          debug, info, warn or error (default info)
  --allowed-label-domains D,E
                         domains of label keys that claims may use, as the hooks for claims and pools have them
                         (default ${DEFAULT_LABEL_DOMAINS.join()})
`;

/** Reads the arguments. @throws {TypeError | RangeError} if one makes no sense */
export function readOptions(args: string[]): KeeperOptions {
  const { values } = parseArgs({ args, options: OPTIONS });
  const { kubeconfig, context, namespace, host, help } = values;
  if (context !== undefined && kubeconfig === undefined) {
    throw new RangeError(`Cannot use context "${context}": it needs --kubeconfig`);
  }
  const logLevel = LOG_LEVELS.find((level) => level === values["log-level"]);
  if (!logLevel) throw new RangeError(`Cannot log at level "${values["log-level"]}": use debug, info, warn or error`);
  return {
    kubeconfig,
    context,
    namespace,
    host,
    help,
    logLevel,
    labelDomains: values["allowed-label-domains"].split(",").map((domain) => domain.trim()).filter(Boolean),
    leaderElection: !values["no-leader-election"],
    claimEvents: !values["disable-claim-events"],
    binder: !values["no-binder"],
    ...readBindingOptions(values),
    leaseSeconds: wholeNumber(values["lease-seconds"], "hold a Lease for seconds", 3, 3600),
    port: wholeNumber(values.port, "listen on port", 0, 65535),
  };
}
