/** The router's command line. Reads nothing but its arguments. @module */
import { parseArgs } from "node:util";
import type { LogLevel } from "../lib/log.ts";
import { parseDuration } from "./durations.ts";

/** An address to listen on; port 0: a free one. */
export interface Bind {
  host: string;
  port: number;
}

/** What the command line says. Times in milliseconds. */
export interface RouterOptions {
  kubeconfig: string | undefined;
  context: string | undefined;
  /** Undefined: Sandboxes of all namespaces. */
  namespace: string | undefined;
  http: Bind;
  /** Undefined: none. */
  health: Bind | undefined;
  authzMode: "allow-all";
  allowLoopback: boolean;
  answerMs: number;
  silenceMs: number;
  dialMs: number;
  shutdownMs: number;
  retries: number;
  firstDelayMs: number;
  longestDelayMs: number;
  maxBodyBytes: number;
  /** False: requests wake nothing. */
  mayWake: boolean;
  /** Longest wait for a sandbox that is waking up or starting. */
  holdMs: number;
  maxHeld: number;
  /** Of one namespace; 0: any number. */
  wakesPerMinute: number;
  logLevel: LogLevel;
  help: boolean;
}

const OPTIONS = {
  kubeconfig: { type: "string" },
  context: { type: "string" },
  "cache-namespace": { type: "string" },
  port: { type: "string" },
  "http-bind-address": { type: "string" },
  "health-probe-bind-address": { type: "string" },
  "authz-mode": { type: "string" },
  "allow-loopback-pod-ip": { type: "boolean", default: false },
  "proxy-timeout": { type: "string", default: "180s" },
  "response-header-timeout": { type: "string", default: "180s" },
  "dial-timeout": { type: "string", default: "5s" },
  "shutdown-timeout": { type: "string", default: "30s" },
  "upstream-max-retries": { type: "string", default: "3" },
  "upstream-retry-initial-delay": { type: "string", default: "200ms" },
  "upstream-retry-max-delay": { type: "string", default: "800ms" },
  "max-request-body-bytes": { type: "string", default: "0" },
  wake: { type: "boolean", default: true },
  "wake-timeout": { type: "string", default: "120s" },
  "max-held-requests": { type: "string", default: "10000" },
  "wakes-per-minute": { type: "string", default: "600" },
  "log-level": { type: "string", default: "info" },
  help: { type: "boolean", default: false },
} as const;

type Flag = keyof typeof OPTIONS;

/** Reads the arguments. @throws {TypeError | RangeError} if one makes no sense */
export function readOptions(args: string[]): RouterOptions {
  const { values } = parseArgs({ args: args.map(withoutGoBoolean), options: OPTIONS, allowNegative: true });
  const { kubeconfig, context, port, help } = values;
  const duration = (flag: Flag) => durationOf(flag, String(values[flag]));
  const count = (flag: Flag) => wholeNumber(flag, String(values[flag]), 0, Number.MAX_SAFE_INTEGER);
  if (context !== undefined && kubeconfig === undefined) {
    throw new RangeError(`Cannot use context "${context}": it needs --kubeconfig`);
  }
  const local = kubeconfig === undefined ? "0.0.0.0" : "127.0.0.1";
  const bind = (flag: Flag, text: string) => bindOf(flag, text, local);
  const health = values["health-probe-bind-address"] ?? (kubeconfig === undefined ? ":8081" : "");
  return {
    kubeconfig,
    context,
    help,
    namespace: values["cache-namespace"] || undefined,
    http: port === undefined
      ? bind("http-bind-address", values["http-bind-address"] ?? ":8080")
      : { host: local, port: wholeNumber("port", port, 0, 65535) },
    health: health === "" || health === "0" ? undefined : bind("health-probe-bind-address", health),
    authzMode: authzModeOf(values["authz-mode"], help),
    allowLoopback: values["allow-loopback-pod-ip"],
    answerMs: duration("response-header-timeout"),
    silenceMs: duration("proxy-timeout"),
    dialMs: duration("dial-timeout"),
    shutdownMs: duration("shutdown-timeout"),
    retries: count("upstream-max-retries"),
    firstDelayMs: duration("upstream-retry-initial-delay"),
    longestDelayMs: duration("upstream-retry-max-delay"),
    maxBodyBytes: count("max-request-body-bytes"),
    mayWake: values.wake,
    holdMs: duration("wake-timeout"),
    maxHeld: count("max-held-requests"),
    wakesPerMinute: count("wakes-per-minute"),
    logLevel: logLevelOf(values["log-level"]),
  };
}

/** Go's flags say `--x=false` where ours say `--no-x`; both are understood. */
function withoutGoBoolean(argument: string): string {
  const [, name = "", value] = /^--([a-z-]+)=(true|false)$/.exec(argument) ?? [];
  if (OPTIONS[name as Flag]?.type !== "boolean") return argument;
  return value === "true" ? `--${name}` : `--no-${name}`;
}

function authzModeOf(text: string | undefined, help: boolean): "allow-all" {
  if (text === "allow-all" || help) return "allow-all";
  throw new RangeError(
    `Cannot start without --authz-mode: ${text === undefined ? "none is given" : `"${text}" is none`}`,
  );
}

function logLevelOf(text: string): LogLevel {
  const level = (["debug", "info", "warn", "error"] as const).find((known) => known === text);
  if (level) return level;
  throw new RangeError(`Cannot log at level "${text}": use debug, info, warn or error`);
}

function bindOf(flag: Flag, text: string, anyHost: string): Bind {
  const [, host = "", port = ""] = /^(.*):(\d+)$/.exec(text) ?? [];
  if (port === "") throw new RangeError(`Cannot use --${flag} "${text}": it is not host:port or :port`);
  return { host: host.replace(/^\[|\]$/g, "") || anyHost, port: wholeNumber(flag, port, 0, 65535) };
}

function durationOf(flag: Flag, text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined) throw new RangeError(`Cannot use --${flag} "${text}": it is no length of time such as 1m30s`);
  return ms;
}

function wholeNumber(flag: Flag, text: string, least: number, most: number): number {
  const value = Number(text);
  if (text.trim() !== "" && Number.isInteger(value) && value >= least && value <= most) return value;
  throw new RangeError(`Cannot use --${flag} "${text}": it is not a whole number from ${least} to ${most}`);
}
