/** Defines the command-line options of a server of hooks. @module */
import { flag, number, PORT, TEXT, type Values } from "../process/flags.ts";
import { LOG_LEVEL, otlpEndpoint } from "../process/sharedflags.ts";
import { DEFAULT_DELETION_RATE, DELETION_RATE } from "../process/deletionbudget.ts";

const since = "0.1.0";

/** The options that the server has for any hook. */
export const SERVER_FLAGS = {
  port: flag(PORT, { help: "port to listen on; 0: any free port", since, default: "8080" }),
  "metrics-port": flag(PORT, {
    help: "port to serve /metrics on instead of --port, so that Prometheus needs no access to the hooks",
    since: "0.3.0",
    otherwise: "that of --port",
  }),
  host: flag(TEXT, { help: "address to listen on", since, placeholder: "H", default: "0.0.0.0" }),
  "log-level": LOG_LEVEL,
  "max-losses-per-minute": flag(DELETION_RATE, {
    help:
      "most Pods, volumes and Sandboxes that answers may delete, drain, suspend or expire per minute, beyond what the " +
      "parent's spec asks for. Each namespace has a sixtieth of that for itself. What is not used accumulates for up to " +
      "five minutes. unlimited: no limit",
    ...{ since, default: DEFAULT_DELETION_RATE },
  }),
  "otlp-endpoint": otlpEndpoint(
    "for sandboxes whose clients trace, until they are Ready. On Deno, --allow-net must include its host",
  ),
  record: flag(TEXT, {
    help: "folder for recordings of requests and answers, for hookbox replay. They contain complete objects",
    ...{ since, placeholder: "DIR", default: "" },
  }),
  "record-max-bytes": flag(number(1_000_000), {
    help: "size of that folder; beyond it, the oldest files are deleted",
    ...{ since, default: "268435456" },
  }),
};

/** The values of these options. */
export type ServerSettings = Values<typeof SERVER_FLAGS>;
