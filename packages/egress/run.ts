/** Runs the egress policy: watches, the Unix socket and the health port. The import alone has no effect. @module */
import { Buffer } from "node:buffer";
import { Resolver } from "node:dns/promises";
import { isIP } from "node:net";
import { hostname } from "node:os";
import type { Api } from "../kube/api.ts";
import { checkedSince, requireCheck } from "../kube/authorcheck.ts";
import { connect } from "../kube/connection.ts";
import { healthAddress, runClusterProcess } from "../kube/clusterprocess.ts";
import { findRaw } from "../kube/requests.ts";
import { listAndWatch } from "../kube/watch.ts";
import { systemClock } from "../process/clock.ts";
import { createHealthApp, createRegistry } from "../process/observability.ts";
import { answer, type World } from "./answer.ts";
import { canConnect, watchEnforcement } from "./enforcement.ts";
import { createEgressMetrics } from "./metrics.ts";
import type { EgressOptions } from "./options.ts";
import { createRefusalLog } from "./refusallog.ts";
import { watchSandboxes } from "./sandboxes.ts";
import { serveProxy } from "./socket.ts";

const USER_AGENT = "hookbox-egress";
const POLICIES_MESSAGE = "Checked if the cluster enforces NetworkPolicies";
/** Timeout of a request to the API server: a connection waits for it. */
const TIMEOUT_MS = 10_000;
/** Timeout and tries of a DNS query. */
const DNS = { timeout: 2000, tries: 2 };

/**
 * Runs the egress policy until `signal` fires.
 *
 * @throws if there is no usable cluster, if the namespace is not known, or if the socket or the port is in use
 */
export async function runEgress(options: EgressOptions, signal: AbortSignal): Promise<void> {
  await runClusterProcess(
    USER_AGENT,
    { ...options, otlpEndpoint: undefined },
    async ({ serveInternal, log, credentials }) => {
      const namespace = options.namespace ?? credentials.namespace;
      if (namespace === undefined) throw new Error("The namespace of the sandboxes is not known: pass --namespace");
      const metrics = createEgressMetrics(createRegistry(false), () => enforcement.state(), () => performance.now());
      const onAnswer = metrics.requested;
      const api = connect(credentials, { signal, userAgent: USER_AGENT, timeoutMs: TIMEOUT_MS, onAnswer });
      const sandboxes = watchSandboxes(api, namespace);
      const { port, metricsPort } = options;
      const others = () => port === 0 ? [] : sandboxes.otherProxies(hostname());
      const reaches = (other: string) => canConnect(other, port);
      const enforcement = watchEnforcement(
        others,
        reaches,
        systemClock,
        signal,
        (state, problem) => log(problem === undefined ? "info" : "error", POLICIES_MESSAGE, { state, problem }),
      );
      const proxy = serveProxy(options.socket, {
        answer: (question) => answer(world, question),
        log,
        logRefusal: createRefusalLog(log, systemClock, signal),
        metrics,
        signal,
      });
      const isReady = () => sandboxes.hasSynced() && proxy.isListening() && !signal.aborted;
      const address = healthAddress(options);
      const isApart = metricsPort !== undefined && metricsPort !== port;
      if (address) await serveInternal(createHealthApp(isReady, isApart ? undefined : metrics), address);
      const place = isApart && healthAddress({ ...options, port: metricsPort });
      if (place) await serveInternal(createHealthApp(isReady, metrics), place);
      log("info", "Starting", { server: credentials.server, namespace, socket: options.socket });
      const world: World = {
        sandboxes,
        problem: enforcement.problem,
        resolve: createResolver(),
        secret: secretReader(api, namespace, () => performance.now()),
        requireAuthor: authorChecker(api, () => performance.now()),
      };
      const watching = sandboxes.watches.map(({ collection, handler }) =>
        listAndWatch(api, collection, handler, { log, signal })
      );
      await Promise.all([proxy.done, ...watching]);
    },
  );
}

/** Asks the DNS servers themselves: without search domains, and without the threads that all lookups of Node share. */
function createResolver(): World["resolve"] {
  const resolver = new Resolver(DNS);
  const ask = (query: Promise<string[]>) =>
    query.catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENODATA" || error.code === "ENOTFOUND") return [];
      throw error;
    });
  return async (host) => {
    if (isIP(host)) return [host];
    const [four, six] = await Promise.allSettled([ask(resolver.resolve4(host)), ask(resolver.resolve6(host))]);
    if (four.status === "rejected") throw new Error(`Cannot resolve ${host}: ${four.reason.message}`);
    return [...four.value, ...(six.status === "fulfilled" ? six.value : [])];
  };
}

/** Name of the admission policy that checks the author of a claim's headers, and of its binding. */
const CLAIM_POLICY = "hookbox-claim-headers";

/** Creates the check of a claim's author. The policy is read again when it is no longer fresh. */
export function authorChecker(api: Api, now: () => number): World["requireAuthor"] {
  let last: { at: number; since: Promise<number> } | undefined;
  return async (creationTimestamp) => {
    const entry = last && now() - last.at < FRESH_MS ? last : { at: now(), since: checkedSince(api, CLAIM_POLICY) };
    last = entry;
    // Tries again at the next request.
    entry.since.catch(() => last = last === entry ? undefined : last);
    requireCheck({ creationTimestamp }, await entry.since, CLAIM_POLICY);
  };
}

/** How long a Secret or a policy is used after it was read, in milliseconds. */
const FRESH_MS = 5000;

/** Creates the reader of Secrets. */
export function secretReader(api: Api, namespace: string, now: () => number): World["secret"] {
  const read = new Map<string, { at: number; data: Promise<Record<string, string> | undefined> }>();
  return async (name, key) => {
    const before = read.get(name);
    const isFresh = before && now() - before.at < FRESH_MS;
    const entry = isFresh ? before : { at: now(), data: dataOf(name) };
    read.set(name, entry);
    // Tries again at the next request.
    entry.data.catch(() => read.delete(name));
    const data = await entry.data;
    if (!data) throw new Error(`Secret ${name} does not exist`);
    const encoded = data[key];
    if (encoded === undefined) throw new Error(`Secret ${name} has no key ${key}`);
    return Buffer.from(encoded, "base64").toString();
  };

  async function dataOf(name: string) {
    const secret = await findRaw<{ data?: Record<string, string> }>(api, { resource: "secrets", namespace, name });
    return secret && (secret.data ?? {});
  }
}
