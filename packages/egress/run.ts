/** Runs the egress policy: watches, the Unix socket and the health port. The import alone has no effect. @module */
import { Buffer } from "node:buffer";
import { Resolver } from "node:dns/promises";
import { mkdirSync, rmSync } from "node:fs";
import { createServer, isIP, type Socket } from "node:net";
import { hostname } from "node:os";
import { dirname } from "node:path";
import type { Api } from "../kube/api.ts";
import { connect } from "../kube/connection.ts";
import { healthAddress, runClusterProcess } from "../kube/clusterprocess.ts";
import { findRaw } from "../kube/requests.ts";
import { listAndWatch } from "../kube/watch.ts";
import { systemClock } from "../process/clock.ts";
import { createHealthApp } from "../process/observability.ts";
import type { Log } from "../process/log.ts";
import { type Answer, answer, type Question, questionSchema, type World } from "./answer.ts";
import { canConnect, watchEnforcement } from "./enforcement.ts";
import type { EgressOptions } from "./options.ts";
import { watchSandboxes } from "./sandboxes.ts";

const USER_AGENT = "hookbox-egress";
/** Timeout of a request to the API server: a connection waits for it. */
const TIMEOUT_MS = 10_000;
/** Timeout and tries of a DNS query. */
const DNS = { timeout: 2000, tries: 2 };
/** Longest question: a host name has at most 253 characters. */
const MOST_CHARACTERS = 4096;

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
      const api = connect(credentials, { signal, userAgent: USER_AGENT, timeoutMs: TIMEOUT_MS });
      const sandboxes = watchSandboxes(api, namespace);
      const isReady = () => sandboxes.hasSynced() && !signal.aborted;
      const address = healthAddress(options);
      if (address) await serveInternal(createHealthApp(isReady), address);
      log("info", "Starting", { server: credentials.server, namespace, socket: options.socket });
      const { port } = options;
      const others = () => port === 0 ? [] : sandboxes.otherProxies(hostname());
      const enforcement = watchEnforcement(others, (other) => canConnect(other, port), systemClock, signal);
      const world = {
        sandboxes,
        problem: enforcement.problem,
        resolve: createResolver(),
        secret: secretReader(api, namespace, () => performance.now()),
      };
      const answering = serveQuestions(options.socket, (question) => answer(world, question), log, signal);
      const watching = sandboxes.watches.map(({ collection, handler }) =>
        listAndWatch(api, collection, handler, { log, signal })
      );
      await Promise.all([answering, ...watching]);
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

/** How long a Secret is used after it was read, in milliseconds. */
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

/**
 * Serves questions, one line for each connection, until `signal` fires.
 *
 * @throws {Error} if the socket cannot be made
 */
export async function serveQuestions(
  path: string,
  ask: (question: Question) => Promise<Answer>,
  log: Log,
  signal: AbortSignal,
): Promise<void> {
  mkdirSync(dirname(path), { recursive: true });
  // A process that was killed has left it.
  rmSync(path, { force: true });
  const server = createServer((socket) => void serve(socket, ask, log));
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(path, resolve);
  });
  await new Promise<void>((resolve) => {
    signal.addEventListener("abort", () => server.close(() => resolve()), { once: true });
    if (signal.aborted) server.close(() => resolve());
  });
}

async function serve(socket: Socket, ask: (question: Question) => Promise<Answer>, log: Log): Promise<void> {
  socket.on("error", () => socket.destroy());
  socket.setEncoding("utf8");
  let text = "";
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    text += chunk;
    if (text.includes("\n") || text.length > MOST_CHARACTERS) break;
  }
  const found = parse(text);
  const failed: Answer = { allowed: false, status: 503, reason: "the egress policy has failed" };
  const given = found ? await ask(found).catch(() => failed) : failed;
  socket.end(`${JSON.stringify(given)}\n`);
  if (found) report(log, found, given);
}

function parse(text: string): Question | undefined {
  try {
    return questionSchema.parse(JSON.parse(text.split("\n", 1)[0] ?? ""));
  } catch {
    return undefined;
  }
}

/** The log names what was refused, and never a header's value. */
function report(log: Log, { client, host, port, sandbox }: Question, given: Answer): void {
  const fields = { client, sandbox: sandbox?.name, host, port };
  if (given.allowed) log("debug", "Allowed", { ...fields, sandbox: given.sandbox.name, address: given.address });
  else log("info", "Refused", { ...fields, status: given.status, reason: given.reason });
}
