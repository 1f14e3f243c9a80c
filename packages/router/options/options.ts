/** Reads the router's command line. @module */
import { hostname } from "node:os";
import { type Program, readCommandLine, type Values } from "../../process/flags.ts";
import type { BrowserOptions } from "../access/credentials.ts";
import { authzOf, type AuthzOptions, browserOf } from "./accessoptions.ts";
import { ROUTER_FLAGS } from "./flags.ts";
import type { Bind } from "./types.ts";

export const ROUTER = {
  name: "hookbox router",
  about:
    `Forwards requests to sandboxes, and wakes those that are suspended. A request names its sandbox by X-Sandbox-ID,
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
    idleCheckInterval: Math.max(100, values.idleCheckInterval),
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
