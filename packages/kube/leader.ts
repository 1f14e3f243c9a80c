/**
 * Elects a leader by a Lease: acquires, renews and releases it, and runs work while this process holds it. A process
 * that loses the Lease stops its work at once. Source of the rules: k8s.io/client-go tools/leaderelection, 0.36.
 * @module
 */
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import * as z from "zod";
import { SYSTEM_NAMESPACE } from "../api/installation.ts";
import { errorFields, type Log } from "../process/log.ts";
import { type Answer, answerError, type Api, isOk, messageOf, pathOf } from "./api.ts";
import { sleep } from "./backoff.ts";
import { connect, type ConnectionOptions } from "./connection.ts";
import type { Credentials } from "./credentials.ts";

interface WithLeaseOptions extends Pick<ConnectionOptions, "userAgent" | "onAnswer"> {
  credentials: Credentials;
  log: Log;
  /** Name of the Lease. */
  name: string;
  /** Namespace of the Lease, see {@link leaseNamespace}. */
  namespace: string;
  /** Identity of the holder; undefined: the Pod's name, or outside a cluster a new name at each start. */
  identity: string | undefined;
  /** Path of the kubeconfig, if this process runs outside the cluster. */
  kubeconfig: string | undefined;
  leaseSeconds: number;
  /** False: the work begins at once, without a Lease. */
  leaderElection: boolean;
}

const PATIENCE_MS = 3000;

/**
 * Finds the namespace of Leases: the one that is named, or else the Pod's. Outside a cluster it is hookbox-system, or
 * default if that does not exist. Looked up only once: later, a lookup without an answer would end a process that could
 * lead again.
 *
 * @throws {Error} if it is unknown, or if the API server does not answer
 */
export async function leaseNamespace(
  options:
    & Pick<WithLeaseOptions, "credentials" | "log" | "kubeconfig" | "leaderElection" | "userAgent" | "onAnswer">
    & {
      namespace: string | undefined;
    },
): Promise<string> {
  const { credentials, log, kubeconfig, leaderElection, userAgent, onAnswer } = options;
  if (options.namespace !== undefined) return options.namespace;
  if (kubeconfig === undefined) {
    if (credentials.namespace) return credentials.namespace;
    throw new Error("Cannot elect a leader: this Pod's namespace is unknown, pass --namespace");
  }
  if (!leaderElection) return SYSTEM_NAMESPACE;
  const signal = new AbortController().signal;
  const api = connect(credentials, { signal, userAgent, timeoutMs: PATIENCE_MS, ...(onAnswer && { onAnswer }) });
  const answer = await api.send({ method: "GET", path: pathOf({ resource: "namespaces", name: SYSTEM_NAMESPACE }) });
  const namespace = answer.status === 404 ? "default" : SYSTEM_NAMESPACE;
  if (!isOk(answer)) log("info", `The Lease goes to namespace ${namespace}`, { [SYSTEM_NAMESPACE]: answer.status });
  return namespace;
}

/**
 * Runs the work whenever this process holds the Lease, until `signal` fires.
 *
 * @throws {Error} if the Lease's namespace does not exist, or what `work` throws
 */
export async function runWithLease(options: WithLeaseOptions, work: Work, signal: AbortSignal): Promise<void> {
  const { credentials, log, name, namespace, kubeconfig, leaseSeconds: termSeconds, userAgent, onAnswer } = options;
  if (!options.leaderElection) return await work(signal);
  const timeoutMs = (termSeconds * 1000) / 5;
  const ending = new AbortController().signal;
  const api = connect(credentials, { signal: ending, userAgent, timeoutMs, ...(onAnswer && { onAnswer }) });
  // A Pod's name is its host name and stays the same when a container restarts. So a restarted container need not wait
  // for its own Lease.
  const identity = options.identity ?? (kubeconfig ? `${hostname()}_${randomUUID()}` : hostname());
  await lead({ api, log, namespace, name, identity, termSeconds }, work, signal);
}

interface LeaderOptions {
  /** Must outlive the work, because it releases the Lease. Its requests must time out within a third of the term. */
  api: Api;
  log: Log;
  namespace: string;
  /** Name of the Lease. */
  name: string;
  /** Identity of this candidate; no two candidates share one. */
  identity: string;
  /** How long other candidates wait for a renewal. */
  termSeconds: number;
}

/** The work of a leader; the signal fires when its leadership ends. */
export type Work = (leading: AbortSignal) => Promise<void>;

/**
 * Shares of the term: the interval between two tries, and the time from the last renewal to giving up. As in client-go
 * (15, 2 and 10 s).
 */
const RETRY_SHARE = 2 / 15;
const RENEWAL_SHARE = 10 / 15;

/**
 * Runs `work` each time this process becomes the leader, for as long as it leads. Returns when `signal` has fired,
 * `work` has ended and the Lease is released.
 *
 * @throws if the Lease's namespace does not exist, or what `work` throws
 */
export async function lead(options: LeaderOptions, work: Work, signal: AbortSignal): Promise<void> {
  const candidate = createCandidate(options);
  while (!signal.aborted) {
    if (await candidate.attempt() === "held") await leadOnce(options, candidate, work, signal);
    await pause(options, signal);
  }
}

async function leadOnce(options: LeaderOptions, candidate: Candidate, work: Work, signal: AbortSignal): Promise<void> {
  const { log, namespace, name, identity, termSeconds } = options;
  log("info", "Leading", { namespace, lease: name, identity });
  const term = new AbortController();
  const giveUp = setTimeout(() => term.abort(), termSeconds * 1000 * RENEWAL_SHARE);
  const leading = AbortSignal.any([signal, term.signal]);
  const working = work(leading).finally(() => term.abort());
  // It is awaited below. Until then, a failure must not count as an unhandled rejection.
  working.catch(() => {});
  for (;;) {
    await pause(options, leading);
    if (leading.aborted) break;
    const outcome = await candidate.attempt();
    if (outcome === "held") giveUp.refresh();
    if (outcome === "lost") term.abort();
  }
  clearTimeout(giveUp);
  await working;
  if (signal.aborted) await candidate.release();
  log(signal.aborted ? "info" : "error", "No longer leading", { namespace, lease: name, identity });
}

function pause({ termSeconds }: LeaderOptions, signal: AbortSignal): Promise<void> {
  return sleep(termSeconds * 1000 * RETRY_SHARE, signal);
}

interface Candidate {
  /** Acquires or renews the Lease. `lost`: another candidate holds it; `failed`: the outcome is not known. */
  attempt(): Promise<"held" | "lost" | "failed">;
  release(): Promise<void>;
}

/** What a candidate knows of the Lease. */
interface LeaseKnowledge {
  /** The Lease as last written by this candidate; undefined: it must be read first. */
  held?: Lease | undefined;
  sighting?: Sighting;
}

function createCandidate(options: LeaderOptions): Candidate {
  const { log, namespace, name } = options;
  const known: LeaseKnowledge = {};
  return {
    async attempt() {
      try {
        return await hold(options, known) ? "held" : "lost";
      } catch (error) {
        if (error instanceof NamespaceError) {
          throw new Error(`Cannot make Lease ${namespace}/${name}: ${error.message}`);
        }
        log("warn", "Election failed, trying again", { ...errorFields(error), stack: undefined });
        return "failed";
      }
    },
    async release() {
      if (known.held) await patch(options, known.held, releasedSpec(new Date())).catch(() => {});
    },
  };
}

/** The only failure that a retry cannot solve: the namespace does not exist. */
class NamespaceError extends Error {}

/** Acquires or renews the Lease; returns false if another candidate holds it. */
async function hold(options: LeaderOptions, known: LeaseKnowledge): Promise<boolean> {
  const { namespace, name, identity, termSeconds } = options;
  const wasHeld = known.held !== undefined;
  const previous = known.held ?? await read(options, known);
  known.held = undefined;
  const { sighting } = known;
  if (previous && sighting && electionStep(previous, sighting, identity, performance.now()) === "wait") return false;
  const spec = heldSpec(previous, identity, termSeconds, new Date());
  const answer = previous ? await patch(options, previous, spec) : await create(options, spec);
  if (wasHeld && (answer.status === 404 || answer.status === 409)) return await hold(options, known);
  if (!previous && answer.status === 404) throw new NamespaceError(messageOf(answer));
  if (!isOk(answer)) throw answerError(`hold Lease ${namespace}/${name}`, answer);
  known.held = leaseSchema.parse(answer.body);
  return true;
}

async function read({ api, namespace, name }: LeaderOptions, known: LeaseKnowledge): Promise<Lease | undefined> {
  const answer = await api.send({ method: "GET", path: pathOf({ resource: "leases", namespace, name }) });
  if (answer.status === 404) return undefined;
  if (!isOk(answer)) throw answerError(`get Lease ${namespace}/${name}`, answer);
  const lease = leaseSchema.parse(answer.body);
  known.sighting = sight(known.sighting, lease, performance.now());
  return lease;
}

function create({ api, namespace, name }: LeaderOptions, spec: object): Promise<Answer> {
  const body = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { namespace, name }, spec };
  return api.send({ method: "POST", path: pathOf({ resource: "leases", namespace }), body });
}

function patch({ api, namespace, name }: LeaderOptions, { metadata }: Lease, spec: object): Promise<Answer> {
  const body = { metadata: { resourceVersion: metadata.resourceVersion }, spec };
  return api.send({ method: "PATCH", path: pathOf({ resource: "leases", namespace, name }), body });
}

/** The fields that are read of a Lease (coordination.k8s.io/v1). */
export const leaseSchema = z.object({
  metadata: z.looseObject({ resourceVersion: z.string() }),
  spec: z.looseObject({
    holderIdentity: z.string().optional(),
    leaseDurationSeconds: z.number().optional(),
    leaseTransitions: z.number().optional(),
  }).default({}),
});
export type Lease = z.infer<typeof leaseSchema>;

/**
 * The version of the Lease that was last seen, and when it was first seen, in milliseconds of this process's monotonic
 * clock. The clocks of two candidates may differ, and a clock that is set forward must not end the other's term.
 */
interface Sighting {
  version: string;
  since: number;
}

/** Returns the sighting after reading the Lease at `now`. */
export function sight(before: Sighting | undefined, lease: Lease, now: number): Sighting {
  const version = lease.metadata.resourceVersion;
  return before?.version === version ? before : { version, since: now };
}

/**
 * Decides what a candidate does with the Lease.
 *
 * | holder | unchanged for longer than the holder's term | step |
 * |---|---|---|
 * | none | | take |
 * | this candidate | | renew |
 * | another | no | wait |
 * | another | yes | take |
 */
export function electionStep(lease: Lease, sighting: Sighting, me: string, now: number): "take" | "renew" | "wait" {
  const { holderIdentity: holder, leaseDurationSeconds: term = 0 } = lease.spec;
  if (!holder) return "take";
  if (holder === me) return "renew";
  return now - sighting.since > term * 1000 ? "take" : "wait";
}

/** Returns the spec of a Lease that is acquired or renewed; `previous` is undefined if the Lease does not exist yet. */
export function heldSpec(previous: Lease | undefined, me: string, termSeconds: number, now: Date): object {
  const { holderIdentity, leaseTransitions = 0 } = previous?.spec ?? {};
  const renewTime = microTime(now);
  const isNew = holderIdentity !== me;
  return {
    holderIdentity: me,
    leaseDurationSeconds: termSeconds,
    renewTime,
    ...(isNew ? { acquireTime: renewTime, leaseTransitions: previous ? leaseTransitions + 1 : 0 } : {}),
  };
}

/** Returns the spec of a released Lease, which any candidate can acquire at once. */
function releasedSpec(now: Date): object {
  return { holderIdentity: null, leaseDurationSeconds: 1, renewTime: microTime(now) };
}

/** Formats a time as metav1.MicroTime. */
function microTime(instant: Date): string {
  return instant.toISOString().replace("Z", "000Z");
}
