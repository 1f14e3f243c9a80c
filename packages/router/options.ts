/**
 * The router's command line: its options, and the settings that they give. Source of the names: Agent Sandbox API, 7.1
 * and 1.0 2.3.
 * @module
 */
import { hostname } from "node:os";
import { RESPONSE_HEADER_TIMEOUT_MS, RUNTIME_PORT, WAKE_TIMEOUT_MS } from "../api/router/protocol.ts";
import { CLUSTER_FLAGS } from "../kube/clusterflags.ts";
import {
  choice,
  DURATION,
  durationFrom,
  flag,
  type FlagType,
  PORT,
  type Program,
  readCommandLine,
  section,
  SWITCH,
  TEXT,
  type Values,
  wholeNumber,
} from "../process/flags.ts";
import { LOG_LEVEL, otlpEndpoint } from "../process/sharedflags.ts";
import { ACCESS_FLAGS, authzOf, type AuthzOptions, browserOf } from "./access/accessoptions.ts";
import type { BrowserOptions } from "./access/credentials.ts";
import { isPathPrefix } from "./destination.ts";

/** An address to listen on; port 0 means any free port. */
interface Bind {
  /** Empty: 0.0.0.0 in a Pod, else 127.0.0.1. */
  host: string;
  port: number;
}

/** Reads `host:port`, `[v6]:port` or `:port`; false if the text is empty or `0`: do not listen. */
const ADDRESS: FlagType<Bind | false> = {
  ...{ name: "address", placeholder: "H:P", allowed: "host:port or :port, or 0 for none" },
  read(text, refuse) {
    if (text === "" || text === "0") return false;
    const [, host = "", port = ""] = /^(.*):(\d+)$/.exec(text) ?? [];
    return port === "" ? refuse() : { host: host.replace(/^\[|\]$/g, ""), port: PORT.read(port, refuse) };
  },
};

/** Like {@link ADDRESS}, but for a port that cannot be off. */
const NEEDED_ADDRESS: FlagType<Bind> = {
  ...{ ...ADDRESS, allowed: "host:port or :port" },
  read: (text, refuse) => ADDRESS.read(text, refuse) || refuse(),
};

/** Reads a path such as `/sandboxes`; undefined if the text is empty. */
const PATH_PREFIX: FlagType<string | undefined> = {
  ...{ name: "path", placeholder: "P", allowed: "a path such as /sandboxes" },
  read: (text, refuse) => text === "" ? undefined : isPathPrefix(text) ? text : refuse(),
};

/** Reads a DNS domain: changes it to lower case and removes dots at its ends; undefined if it is empty. */
const DOMAIN: FlagType<string | undefined> = {
  ...{ ...TEXT, name: "domain", placeholder: "D" },
  read: (text) => text.toLowerCase().replace(/^\.|\.$/g, "") || undefined,
};

/** Where deploy/ mounts the secrets from which IDs and tokens of E2B's clients follow. */
export const E2B_SECRET_FILE = "/var/run/secrets/hookbox/e2b/secret";

const since = "0.1.0";
const on = { since, default: "true" };
const seconds = (ms: number) => `${ms / 1000}s`;

const PORTS = {
  "http-bind-address": flag(NEEDED_ADDRESS, { help: "address for requests of clients", since, default: ":8080" }),
  port: flag(PORT, { help: "port for requests of clients, instead of --http-bind-address", since }),
  h2c: flag(SWITCH, {
    help: "do not serve HTTP/2 without TLS on the same port; gRPC needs it. On Deno it is never served",
    ...on,
  }),
  "https-bind-address": flag(ADDRESS, {
    help: "address for requests of clients with TLS, including HTTP/2",
    ...{ since, otherwise: "none", default: "", needs: ["tls-cert-file", "tls-key-file"] },
  }),
  "tls-cert-file": flag(TEXT, { help: "certificate in PEM; read again every minute", since, placeholder: "F" }),
  "tls-key-file": flag(TEXT, {
    help: "key of the certificate in PEM; read again every minute",
    since,
    placeholder: "F",
  }),
  "health-probe-bind-address": flag(ADDRESS, {
    help: "address of /healthz and /readyz",
    ...{ since, otherwise: ":8081; with --kubeconfig none" },
  }),
  "metrics-bind-address": flag(ADDRESS, {
    help: "address of /metrics; may be the same. Without a host, an address means 0.0.0.0, with --kubeconfig 127.0.0.1",
    ...{ since, otherwise: ":9090; with --kubeconfig none" },
  }),
};

const ROUTING = {
  "path-routing-prefix": flag(PATH_PREFIX, {
    help: "also accept paths P/<namespace>/<sandbox ID>/<port>/<rest>",
    ...{ since, default: "" },
  }),
  "path-routing-rewrite-responses": flag(SWITCH, {
    help: "do not rewrite Location and Set-Cookie in answers to requests that name the sandbox by path",
    ...{ ...on, since: "0.3.0" },
  }),
  domain: flag(DOMAIN, { help: "also accept hosts <port>-<sandbox ID>-<namespace>.D", since, default: "" }),
  "e2b-secret-file": flag(TEXT, {
    help:
      "file with the secrets of hookbox e2b, one a line: E2B's clients are served, and hosts may be <port>-<ID>.D, too",
    ...{ since: "0.3.0", placeholder: "F", otherwise: `${E2B_SECRET_FILE} as soon as it exists` },
  }),
  "upstream-host": flag(choice(["pod", "localhost", "client"], "H"), {
    help:
      "the header Host that sandboxes get: pod (address and port of the Pod), localhost (localhost and the port), or " +
      "client (as the client sent it)",
    ...{ since: "0.3.0", default: "pod" },
  }),
};

const LIMITS = {
  "proxy-timeout": flag(DURATION, {
    help: "end a request if its body or the body of its answer sends nothing for this long; not event streams",
    ...{ since, default: "180s" },
  }),
  "response-header-timeout": flag(DURATION, {
    help: "how long to wait for the headers of an answer",
    ...{ since, default: seconds(RESPONSE_HEADER_TIMEOUT_MS) },
  }),
  "dial-timeout": flag(DURATION, { help: "how long to wait for a connection to a sandbox", since, default: "5s" }),
  "stale-after": flag(DURATION, {
    help:
      "/readyz fails if the API server has been silent for this long, because Pods may have moved; must be longer than " +
      "a restart of the API server; 0: never",
    ...{ since: "0.3.0", default: "3m" },
  }),
  "upstream-max-retries": flag(wholeNumber(), {
    help: "how often to try again if a connection fails",
    ...{ since, default: "3" },
  }),
  "upstream-retry-initial-delay": flag(DURATION, {
    help: "delay before the first retry; doubles with each retry",
    ...{ since, default: "200ms" },
  }),
  "upstream-retry-max-delay": flag(DURATION, { help: "longest delay before a retry", since, default: "800ms" }),
  "max-open-requests": flag(wholeNumber(), {
    help:
      "most requests and open streams at the same time; one namespace may not use more than it leaves free for others; " +
      "0: no limit",
    ...{ since: "0.3.0", default: "10000" },
  }),
  "max-request-body-bytes": flag(wholeNumber(), {
    help: "largest body of a request; 0: no limit",
    since,
    default: "0",
  }),
  "shutdown-delay": flag(DURATION, {
    help: "how long to accept connections after SIGTERM",
    ...{ since, otherwise: "5s; with --kubeconfig 0" },
  }),
  "shutdown-timeout": flag(DURATION, {
    help: "how long running requests may continue after SIGTERM",
    ...{ since, default: "30s" },
  }),
};

const WAKING = {
  wake: flag(SWITCH, {
    help: "requests resume no sandbox; a Sandbox can set this for itself, see docs/router.md",
    ...on,
  }),
  "wake-timeout": flag(DURATION, {
    help: "how long a request waits for a sandbox that resumes or starts",
    ...{ since, default: seconds(WAKE_TIMEOUT_MS) },
  }),
  "wakes-per-minute": flag(wholeNumber(), {
    help: "how many Sandboxes of one namespace requests may resume per minute; 0: no limit",
    ...{ since, default: "600" },
  }),
  "max-held-requests": flag(wholeNumber(), {
    help: "most requests that wait for sandboxes; one namespace may not use more than it leaves free for others",
    ...{ since, default: "10000" },
  }),
};

/** All options of the router, by section. */
const ROUTER_FLAGS = {
  ...section("Cluster", {
    ...CLUSTER_FLAGS,
    "cache-namespace": flag(TEXT, {
      help: "serve only the Sandboxes of this namespace",
      ...{ since, placeholder: "N", otherwise: "all namespaces" },
    }),
  }),
  ...section("Ports", PORTS),
  ...section("Routing", ROUTING),
  ...section("Authorization", ACCESS_FLAGS),
  ...section("Runtimes", {
    "runtime-port": flag(wholeNumber(1, 65_535), {
      help: "port of the runtimes in sandboxes, for activity, metrics, terminals and late binding",
      ...{ since, placeholder: "P", default: String(RUNTIME_PORT) },
    }),
    "terminal-page": flag(SWITCH, {
      help: "do not serve the terminal page at /.hookbox/terminal/ of that port; the sandbox gets these requests",
      ...on,
    }),
  }),
  ...section("Dashboard", {
    dashboard: flag(SWITCH, {
      help:
        "do not serve the dashboard at /.hookbox/. With --path-routing-prefix it is never served, because the pages of " +
        "sandboxes would have its origin",
      ...{ ...on, since: "0.3.0" },
    }),
    "dashboard-cluster-name": flag(TEXT, {
      help:
        "name of the cluster, which the dashboard shows next to the user. Everyone who can reach the router can read it",
      ...{ since: "0.3.0", placeholder: "N", default: "" },
    }),
    "dashboard-token-storage": flag(choice(["memory", "session"], "S"), {
      help:
        "where the dashboard keeps the user's token: memory (a reload asks for it again), or session (the browser's " +
        "sessionStorage, until the tab is closed). See docs/dashboard.md for the risk",
      ...{ since: "0.3.0", default: "memory" },
    }),
  }),
  ...section("Timeouts and limits", LIMITS),
  ...section("Waking", WAKING),
  ...section("Idle suspension, for Sandboxes that ask for it by annotation (docs/router.md)", {
    idle: flag(SWITCH, { help: "do not suspend idle sandboxes", ...on }),
    "idle-check-interval": flag(durationFrom(100), {
      help: "how often to look for idle sandboxes; at least 100ms",
      since,
      default: "5s",
    }),
    identity: flag(TEXT, {
      help: "name that distinguishes this router from its other replicas",
      ...{ since, placeholder: "I", otherwise: "its host name" },
    }),
  }),
  ...section("Logging", {
    "access-log": flag(SWITCH, { help: "do not log each request on standard output", ...on }),
    "trace-context": flag(SWITCH, { help: "do not add a traceparent to requests that have none", ...on }),
    "otlp-endpoint": otlpEndpoint("for requests whose clients trace"),
    "log-level": LOG_LEVEL,
  }),
};

export const ROUTER = {
  name: "hookbox router",
  about: `Forwards requests to sandboxes, and resumes suspended sandboxes. A request names its sandbox by X-Sandbox-ID,
X-Sandbox-Namespace (default "default") and X-Sandbox-Port (default 8888).`,
  flags: ROUTER_FLAGS,
} satisfies Program;

type RouterValues = Values<typeof ROUTER_FLAGS>;

/** Values that depend on several options, or on the machine. */
interface Derived {
  httpBindAddress: Bind;
  healthProbeBindAddress: Bind | undefined;
  metricsBindAddress: Bind | undefined;
  /** Undefined: no TLS. */
  https: { bind: Bind; certFile: string; keyFile: string } | undefined;
  shutdownDelay: number;
  identity: string;
  authz: AuthzOptions;
  browser: BrowserOptions;
}

/** The router's settings from the command line. Times are in milliseconds. */
export type RouterOptions = Omit<RouterValues, keyof Derived> & Derived;

/** Reads the arguments; undefined: they ask for help. @throws {RangeError} if an argument is invalid */
export function readOptions(args: string[]): RouterOptions | undefined {
  const values = readCommandLine(ROUTER, args)?.values;
  if (!values) return undefined;
  return {
    ...values,
    ...addressesOf(values),
    // On Deno, node:http2 cannot serve HTTP/2 without TLS.
    h2c: values.h2c && !("Deno" in globalThis),
    shutdownDelay: values.shutdownDelay ?? (values.kubeconfig === undefined ? IN_POD.shutdownDelay : 0),
    identity: (values.identity ?? hostname()).replaceAll(/\s/g, "") || "router",
    authz: authzOf(values),
    browser: browserOf(values),
  };
}

/** Defaults without `--kubeconfig`: the process runs in a Pod, and other processes expect its ports there. */
const IN_POD = { health: { host: "", port: 8081 }, metrics: { host: "", port: 9090 }, shutdownDelay: 5000 };

function addressesOf(values: RouterValues) {
  const { kubeconfig, port, tlsCertFile: certFile, tlsKeyFile: keyFile } = values;
  const inPod = kubeconfig === undefined ? IN_POD : undefined;
  const complete = (bind: Bind) => ({ ...bind, host: bind.host || (inPod ? "0.0.0.0" : "127.0.0.1") });
  const { httpBindAddress: http, httpsBindAddress: https } = values;
  const health = values.healthProbeBindAddress ?? inPod?.health;
  const metrics = values.metricsBindAddress ?? inPod?.metrics;
  return {
    httpBindAddress: complete(port === undefined ? http : { host: "", port }),
    https: https && certFile && keyFile ? { bind: complete(https), certFile, keyFile } : undefined,
    healthProbeBindAddress: health ? complete(health) : undefined,
    metricsBindAddress: metrics ? complete(metrics) : undefined,
  };
}
