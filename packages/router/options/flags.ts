/** The flags of the router, those of the contract under its names and our own, and how their values are read. Source: Agent Sandbox API, 7.1 and 1.0 2.3. @module */
import type { parseArgs } from "node:util";
import { LONGEST_TIMER_MS } from "../../process/clock.ts";
import { parseDuration } from "../../process/durations.ts";

export const FLAGS = {
  kubeconfig: { type: "string" },
  context: { type: "string" },
  "cache-namespace": { type: "string", default: "" },
  port: { type: "string" },
  "http-bind-address": { type: "string", default: ":8080" },
  "health-probe-bind-address": { type: "string" },
  "https-bind-address": { type: "string", default: "" },
  "tls-cert-file": { type: "string" },
  "tls-key-file": { type: "string" },
  h2c: { type: "boolean", default: true },
  "path-routing-prefix": { type: "string", default: "" },
  "path-routing-rewrite-responses": { type: "boolean", default: true },
  "upstream-host": { type: "string", default: "pod" },
  domain: { type: "string", default: "" },
  "allowed-hosts": { type: "string", default: "" },
  "authz-mode": { type: "string" },
  "authz-tokenreview-ttl": { type: "string", default: "30s" },
  "authz-tokenreview-cache-size": { type: "string", default: "2048" },
  "authz-tokenreview-require-token": { type: "boolean", default: true },
  "authz-tokenreview-audiences": { type: "string", default: "" },
  "authz-recheck-interval": { type: "string", default: "30s" },
  "authz-scoped-token-secret-file": { type: "string" },
  "authz-scoped-token-public-keys-file": { type: "string" },
  "authz-cookie-name": { type: "string", default: "" },
  "authz-cookie-query-param": { type: "string", default: "" },
  "authz-cookie-samesite": { type: "string", default: "Lax" },
  "authz-cookie-insecure": { type: "boolean", default: false },
  "authz-cookie-allowed-origins": { type: "string", default: "" },
  "client-requests-per-second": { type: "string", default: "0" },
  "client-max-concurrent": { type: "string", default: "0" },
  "trusted-proxies": { type: "string", default: "" },
  "allow-loopback-pod-ip": { type: "boolean", default: false },
  "proxy-timeout": { type: "string", default: "180s" },
  "response-header-timeout": { type: "string", default: "180s" },
  "dial-timeout": { type: "string", default: "5s" },
  "stale-after": { type: "string", default: "3m" },
  "shutdown-delay": { type: "string" },
  "shutdown-timeout": { type: "string", default: "30s" },
  "upstream-max-retries": { type: "string", default: "3" },
  "upstream-retry-initial-delay": { type: "string", default: "200ms" },
  "upstream-retry-max-delay": { type: "string", default: "800ms" },
  "max-open-requests": { type: "string", default: "10000" },
  "max-request-body-bytes": { type: "string", default: "0" },
  wake: { type: "boolean", default: true },
  "wake-timeout": { type: "string", default: "120s" },
  "max-held-requests": { type: "string", default: "10000" },
  "wakes-per-minute": { type: "string", default: "600" },
  "runtime-port": { type: "string", default: "8080" },
  "terminal-page": { type: "boolean", default: true },
  dashboard: { type: "boolean", default: true },
  idle: { type: "boolean", default: true },
  "idle-check-interval": { type: "string", default: "5s" },
  identity: { type: "string" },
  "access-log": { type: "boolean", default: true },
  "otlp-endpoint": { type: "string", default: "" },
  "trace-context": { type: "boolean", default: true },
  "metrics-bind-address": { type: "string" },
  "log-level": { type: "string", default: "info" },
  help: { type: "boolean", default: false },
} as const;

/** What is given for each. */
export type Values = ReturnType<typeof parseArgs<{ options: typeof FLAGS }>>["values"];

/** An address to listen on; port 0: a free one. */
export interface Bind {
  host: string;
  port: number;
}

/** Returns milliseconds, {@link LONGEST_TIMER_MS} at most: all are for timers. @throws {RangeError} if the text is no length of time */
export function durationOf(flag: string, text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined) {
    throw new RangeError(`Cannot use --${flag} "${text}": it is not a length of time such as 1m30s`);
  }
  return Math.min(ms, LONGEST_TIMER_MS);
}

/** @throws {RangeError} if the text is no such number */
export function wholeNumber(flag: string, text: string, least: number, most: number): number {
  const value = Number(text);
  if (text.trim() !== "" && Number.isInteger(value) && value >= least && value <= most) return value;
  throw new RangeError(`Cannot use --${flag} "${text}": it is not a whole number from ${least} to ${most}`);
}

/** @throws {RangeError} if the text is none of the choices */
export function choiceOf<T extends string>(flag: string, text: string, choices: readonly T[]): T {
  const choice = choices.find((known) => known === text);
  if (choice === undefined) throw new RangeError(`Cannot use --${flag} "${text}": use ${choices.join(", ")}`);
  return choice;
}

/** Reads `host:port`, `[v6]:port` or `:port`; undefined for an empty text or `0`. @throws {RangeError} if it is none of these */
export function bindOf(flag: string, text: string, anyHost: string): Bind | undefined {
  if (text === "" || text === "0") return undefined;
  const [, host = "", port = ""] = /^(.*):(\d+)$/.exec(text) ?? [];
  if (port === "") throw new RangeError(`Cannot use --${flag} "${text}": it is not host:port or :port`);
  return { host: host.replace(/^\[|\]$/g, "") || anyHost, port: wholeNumber(flag, port, 0, 65535) };
}

/** Reads a list of words, comma-separated. */
export function listOf(text: string): string[] {
  return text.split(",").map((word) => word.trim()).filter(Boolean);
}
