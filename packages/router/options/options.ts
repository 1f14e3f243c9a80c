/** The router's command line. Reads nothing but its arguments. @module */
import { hostname } from "node:os";
import { parseArgs } from "node:util";
import { hostsOf } from "../../process/hosts.ts";
import type { LogLevel } from "../../process/log.ts";
import { readEndpoint } from "../../process/tracingoption.ts";
import { createAddressOf } from "../access/clientaddress.ts";
import type { LimitOptions } from "../access/limits.ts";
import type { BrowserOptions } from "../access/credentials.ts";
import { authzOf, type AuthzOptions, browserOf } from "./accessoptions.ts";
import { type Bind, bindOf, choiceOf, durationOf, FLAGS, listOf, type Values, wholeNumber } from "./flags.ts";
import { isPathPrefix } from "../destination.ts";
import type { UpstreamHost } from "../proxy/headers.ts";

/** What the command line says. Times in milliseconds. */
export interface RouterOptions {
  kubeconfig: string | undefined;
  context: string | undefined;
  /** Undefined: Sandboxes of all namespaces. */
  namespace: string | undefined;
  http: Bind;
  /** HTTP/2 in the clear as well. */
  h2c: boolean;
  /** Undefined: no TLS. */
  https: { bind: Bind; certFile: string; keyFile: string } | undefined;
  /** Undefined: none. */
  health: Bind | undefined;
  metrics: Bind | undefined;
  pathPrefix: string | undefined;
  domain: string | undefined;
  /** If a path names the sandbox, addresses and cookies in its answers are rewritten below that path. */
  rewrites: boolean;
  /** The Host header that sandboxes get. */
  upstreamHost: UpstreamHost;
  /** Names of this machine beside localhost. */
  allowedHosts: string[];
  authz: AuthzOptions;
  browser: BrowserOptions;
  /** How often to check again whether the clients of open requests and streams may connect; 0: never. */
  recheckMs: number;
  limits: LimitOptions;
  /** Addresses and subnets of proxies whose X-Forwarded-For is believed. */
  trustedProxies: string[];
  allowLoopback: boolean;
  answerMs: number;
  silenceMs: number;
  dialMs: number;
  /** If the API server is silent for longer, this router is not ready; 0: however long. */
  staleMs: number;
  /** How long connections are still taken after a stop has begun: others take a while to hear of it. */
  shutdownDelayMs: number;
  shutdownMs: number;
  retries: number;
  firstDelayMs: number;
  longestDelayMs: number;
  /** Requests and connections of other protocols that are under way at a time. */
  maxOpen: number;
  maxBodyBytes: number;
  /** False: requests wake nothing. */
  mayWake: boolean;
  /** Longest wait for a sandbox that is waking up or starting. */
  holdMs: number;
  maxHeld: number;
  /** Of one namespace; 0: any number. */
  wakesPerMinute: number;
  /** Where runtimes in sandboxes have activity and terminals. */
  runtimePort: number;
  /** The router answers for a terminal page of its own. */
  terminalPage: boolean;
  /** The router answers for the dashboard. */
  dashboard: boolean;
  /** Sandboxes that ask for it are suspended when idle. */
  idle: boolean;
  idleTickMs: number;
  /** Name of this router among others. */
  identity: string;
  accessLog: boolean;
  /** Requests without a trace context get one. */
  traces: boolean;
  /** Base URL of the collector of spans; undefined: there is none. */
  otlpEndpoint: string | undefined;
  logLevel: LogLevel;
}

/** Reads the arguments; undefined: only help is asked for. @throws {TypeError | RangeError} if one makes no sense */
export function readOptions(args: string[]): RouterOptions | undefined {
  const { values } = parseArgs({ args: args.map(withoutGoBoolean), options: FLAGS, allowNegative: true });
  if (values.help) return undefined;
  const { kubeconfig, context } = values;
  if (context !== undefined && kubeconfig === undefined) {
    throw new RangeError(`Cannot use context "${context}": it needs --kubeconfig`);
  }
  return {
    kubeconfig,
    context,
    namespace: values["cache-namespace"] || undefined,
    ...portsOf(values),
    // On Deno node:http2 cannot serve HTTP/2 in the clear.
    h2c: values.h2c && !("Deno" in globalThis),
    https: httpsOf(values),
    ...routingOf(values),
    rewrites: values["path-routing-rewrite-responses"],
    upstreamHost: choiceOf("upstream-host", values["upstream-host"], ["pod", "localhost", "client"]),
    allowedHosts: hostsOf(values["allowed-hosts"]),
    authz: authzOf(values),
    browser: browserOf(values),
    recheckMs: durationOf("authz-recheck-interval", values["authz-recheck-interval"]),
    ...patienceOf(values),
    limits: limitsOf(values),
    trustedProxies: proxiesOf(values),
    allowLoopback: values["allow-loopback-pod-ip"],
    maxOpen: countOf(values, "max-open-requests"),
    maxBodyBytes: countOf(values, "max-request-body-bytes"),
    mayWake: values.wake,
    holdMs: durationOf("wake-timeout", values["wake-timeout"]),
    maxHeld: countOf(values, "max-held-requests"),
    wakesPerMinute: countOf(values, "wakes-per-minute"),
    runtimePort: wholeNumber("runtime-port", values["runtime-port"], 1, 65535),
    terminalPage: values["terminal-page"],
    dashboard: values.dashboard,
    idle: values.idle,
    idleTickMs: Math.max(100, durationOf("idle-check-interval", values["idle-check-interval"])),
    identity: (values.identity ?? hostname()).replaceAll(/\s/g, "") || "router",
    accessLog: values["access-log"],
    traces: values["trace-context"],
    otlpEndpoint: readEndpoint(values["otlp-endpoint"]),
    logLevel: choiceOf("log-level", values["log-level"], ["debug", "info", "warn", "error"]),
  };
}

function portsOf(values: Values): Pick<RouterOptions, "http" | "health" | "metrics"> {
  const isLocal = values.kubeconfig !== undefined;
  const anyHost = isLocal ? "127.0.0.1" : "0.0.0.0";
  const address = values.port === undefined ? values["http-bind-address"] : `:${values.port}`;
  const http = bindOf("http-bind-address", address, anyHost);
  if (!http) throw new RangeError(`Cannot use --http-bind-address "${address}": clients need a port`);
  const health = values["health-probe-bind-address"] ?? (isLocal ? "" : ":8081");
  const metrics = values["metrics-bind-address"] ?? (isLocal ? "" : ":9090");
  return {
    http,
    health: bindOf("health-probe-bind-address", health, anyHost),
    metrics: bindOf("metrics-bind-address", metrics, anyHost),
  };
}

function httpsOf(values: Values): RouterOptions["https"] {
  const { "tls-cert-file": certFile, "tls-key-file": keyFile, kubeconfig } = values;
  const anyHost = kubeconfig === undefined ? "0.0.0.0" : "127.0.0.1";
  const bind = bindOf("https-bind-address", values["https-bind-address"], anyHost);
  if (!bind) return undefined;
  if (certFile && keyFile) return { bind, certFile, keyFile };
  throw new RangeError("Cannot speak TLS: --tls-cert-file and --tls-key-file are needed");
}

function routingOf(values: Values): Pick<RouterOptions, "pathPrefix" | "domain"> {
  const prefix = values["path-routing-prefix"];
  if (prefix !== "" && !isPathPrefix(prefix)) {
    throw new RangeError(`Cannot use --path-routing-prefix "${prefix}": it is not like /sandboxes`);
  }
  const domain = values.domain.toLowerCase().replace(/^\.|\.$/g, "");
  return { pathPrefix: prefix || undefined, domain: domain || undefined };
}

function patienceOf(values: Values) {
  return {
    answerMs: durationOf("response-header-timeout", values["response-header-timeout"]),
    silenceMs: durationOf("proxy-timeout", values["proxy-timeout"]),
    dialMs: durationOf("dial-timeout", values["dial-timeout"]),
    staleMs: durationOf("stale-after", values["stale-after"]),
    shutdownDelayMs: durationOf(
      "shutdown-delay",
      values["shutdown-delay"] ?? (values.kubeconfig === undefined ? "5s" : "0"),
    ),
    shutdownMs: durationOf("shutdown-timeout", values["shutdown-timeout"]),
    retries: countOf(values, "upstream-max-retries"),
    firstDelayMs: durationOf("upstream-retry-initial-delay", values["upstream-retry-initial-delay"]),
    longestDelayMs: durationOf("upstream-retry-max-delay", values["upstream-retry-max-delay"]),
  };
}

function limitsOf(values: Values): LimitOptions {
  const perSecond = countOf(values, "client-requests-per-second");
  return { perSecond, burst: Math.max(2 * perSecond, 1), atOnce: countOf(values, "client-max-concurrent") };
}

function proxiesOf(values: Values): string[] {
  const trusted = listOf(values["trusted-proxies"]);
  // Wrong ones are noticed at the start.
  createAddressOf(trusted);
  return trusted;
}

type CountFlag = { [Flag in keyof Values]-?: Values[Flag] extends string ? Flag : never }[keyof Values];

function countOf(values: Values, flag: CountFlag): number {
  return wholeNumber(flag, values[flag], 0, Number.MAX_SAFE_INTEGER);
}

/** Go's flags say `--x=false` where ours say `--no-x`; both are understood. */
function withoutGoBoolean(argument: string): string {
  const [, name = "", value] = /^--([a-z-]+)=(true|false)$/.exec(argument) ?? [];
  const isBoolean = Object.entries(FLAGS).some(([flag, { type }]) => flag === name && type === "boolean");
  if (!isBoolean) return argument;
  return value === "true" ? `--${name}` : `--no-${name}`;
}
