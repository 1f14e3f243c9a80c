/** The command line of a server of hooks, whichever it serves. @module */
import type { LogLevel } from "../process/log.ts";
import { OTLP_HELP, readEndpoint } from "../process/tracingoption.ts";
import { readLossRate } from "./lossbudget.ts";
import { numberOption, type Options, optionsHelp, textOption } from "./options.ts";

/** What the server of any hook takes on its command line. */
export interface ServerSettings {
  host: string;
  port: number;
  logLevel: LogLevel;
  /** Port of `/metrics`, which is then served only there; undefined: `/metrics` is on `port`. */
  metricsPort: number | undefined;
  /** How many deletions answers may cause per minute, over all namespaces; Infinity: no limit. */
  maxLossesPerMinute: number;
  /** Base URL of the collector of spans; undefined: there is none. */
  otlpEndpoint: string | undefined;
  /** Folder that requests and answers are recorded in; empty: none. */
  record: string;
  recordMaxBytes: number;
}

function readPort(text: string): number {
  const port = Number(text);
  if (text !== "" && Number.isInteger(port) && port >= 0 && port <= 65535) return port;
  throw new RangeError(`Cannot listen on port "${text}": it is not a number from 0 to 65535`);
}

/** The options of the server of any hook. */
export const SERVER_OPTIONS: Options<ServerSettings> = {
  port: {
    ...{ flag: "port", placeholder: "N", default: "8080", help: "port to listen on; 0 takes a free one" },
    read: readPort,
  },
  metricsPort: {
    ...{ flag: "metrics-port", placeholder: "N", default: "" },
    help: "port to serve /metrics on instead of --port, so that Prometheus needs no access to the hooks",
    read: (text) => text === "" ? undefined : readPort(text),
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
  maxLossesPerMinute: {
    ...{ flag: "max-losses-per-minute", placeholder: "N", default: "600", read: readLossRate },
    help:
      "most Pods, volumes and Sandboxes that answers may delete, drain, suspend or expire per minute, beyond what the " +
      "parent's spec asks for, plus a sixtieth of that for each namespace; unused allowance of up to five minutes " +
      "accumulates, starting from zero; unlimited: no limit",
  },
  otlpEndpoint: {
    ...{ flag: "otlp-endpoint", placeholder: "URL", default: "", read: readEndpoint },
    help:
      `${OTLP_HELP}; for sandboxes whose clients trace, until they are Ready. On Deno its host has to be in --allow-net`,
  },
  record: textOption({
    ...{ flag: "record", placeholder: "DIR", default: "" },
    help: "folder to record requests and answers in, for hookbox replay: whole objects, with their values",
  }),
  recordMaxBytes: numberOption({
    ...{ flag: "record-max-bytes", placeholder: "N", default: "268435456", least: 1_000_000 },
    help: "size of that folder: of more, the oldest files go",
  }),
};

/** What any of our hooks takes: each ignores what is another's, so that all can be started alike. */
export const HOOK_FLAGS = [
  ...["cluster-domain", "allowed-label-domains", "allowed-annotation-domains"],
  ...["readiness-grace-seconds", "max-batch-size", "max-refill-rate", "replenish-delay-seconds", "pool-interval-ms"],
  ...["template-network-policy", "denied-egress-cidrs"],
] as const;

/** Writes the help of a process that runs these hooks. */
export function helpOf(hooks: readonly { name: string; options: Options<object> }[]): string {
  const own = hooks.filter(({ options }) => Object.keys(options).length > 0);
  const parts = own.map(({ name, options }) => `Of the hook ${name}:\n${optionsHelp(options)}`);
  return [`Options:\n${optionsHelp(SERVER_OPTIONS)}\n  --help                         this text`, ...parts].join(
    "\n\n",
  );
}
