/** Defines the binder's state: what it keeps of each claim, and of all claims together. @module */
import type { Span, Tracer } from "@opentelemetry/api";
import type { Sandbox } from "../api/sandbox.ts";
import { type SandboxClaim, sandboxClaimSchema } from "../api/sandboxclaim.ts";
import { isLarge } from "../api/objects/size.ts";
import { findRaw } from "../kube/requests.ts";
import { isNewer } from "../kube/watch.ts";
import { projectClaim } from "./store.ts";
import type { SandboxWarmPool } from "../api/sandboxwarmpool.ts";
import type { Api } from "../kube/api.ts";
import type { Clock } from "../process/clock.ts";
import type { Log } from "../process/log.ts";
import type { ClusterIndex } from "./clusterindex.ts";
import { keyOf, type SchedulingQueue, type Waiter } from "./queue.ts";
import type { Refills } from "./refills.ts";
import type { TemplatePolicy } from "../api/templatepolicy.ts";
import type { WorkQueue } from "../kube/workqueue.ts";

/**
 * Size above which the full claim is not kept, and is fetched when it is served; in characters of keys and values. Few
 * claims reach a tenth.
 */
const MOST_KEPT = 16 * 1024;

export interface BindOptions {
  log: Log;
  /** Domains of label keys that claims may use. */
  allowedLabelDomains: readonly string[];
  /**
   * Whether sandboxes may start without their template's NetworkPolicy; each process passes the value of its flag.
   */
  templateNetworkPolicy: TemplatePolicy;
  /** Domains of annotation keys that claims may use; undefined: all that are not reserved. */
  allowedAnnotationDomains?: readonly string[] | undefined;
  /** Claims that are served at the same time. @default the default of the option */
  binderWorkers?: number;
  /** @default {systemClock} */
  clock?: Clock;
  /** Gives a Sandbox what its claim sets. @default refuses, as there is no way to sandboxes */
  deliver?: Deliver;
  /** Called for each claim that has got a Sandbox. */
  onServed?: (served: Served) => void;
  /** Undefined: no spans. */
  tracer?: Tracer | undefined;
}

/** The Sandbox itself does not accept what a claim sets: another one may. */
export class DeliveryRefused extends Error {
  override name = "DeliveryRefused";
}

/** What a runtime gets for a claim. */
export interface Delivery {
  env: Record<string, string>;
  /** `content` is in base64. */
  files: { path: string; content: string }[];
  /** A script for `sh -c`; undefined: none. */
  start: string | undefined;
}

/**
 * Gives the runtime of a Sandbox what its claim sets.
 *
 * @param how `first`: in place of everything that it has; `again`: only what it lacks, because a program may have bound
 *   others
 * @throws {DeliveryRefused} if the Sandbox is the cause
 * @throws {Error} if it is not known that the runtime has got it. No error contains a value
 */
export type Deliver = (
  sandbox: { namespace: string; name: string; uid: string; claim: string },
  delivery: Delivery,
  how: "first" | "again",
) => Promise<void>;

/** A claim that has got a Sandbox. */
export interface Served {
  kind: "warm" | "cold";
  /** Time from when the binder first saw the claim, in seconds. */
  seconds: number;
  claim: SandboxClaim;
}

/** What was delivered for a claim to its Sandbox (deliver.ts). Each start of the Pod is identified as in standing.ts. */
interface DeliveryState {
  /** The start that has got what the claim sets; undefined: none. */
  done: string | undefined;
  /** The start to which they are being delivered now; undefined: none. */
  running: string | undefined;
  /** Resolves when the last delivery has ended, also without success; undefined: there was none. */
  underway: Promise<void> | undefined;
  /** How often a delivery has failed since the last success. */
  failures: number;
  /** How many Sandboxes were deleted because they refused it. */
  discarded: number;
  /** Cancels the next try; undefined: none is planned. */
  retry: (() => void) | undefined;
}

/** The resize of the Pod of a claim's Sandbox (resize.ts). Sandboxes are named by their UIDs. */
interface ResizeState {
  /** The one whose Pod has its resources; undefined: none. */
  done: string | undefined;
  /** The one that was deleted because its Pod was not resized. */
  discarded: string | undefined;
  /** The one that the other fields are about. */
  of: string | undefined;
  /** When its resize began, in milliseconds since the epoch. */
  since: number;
  /** How often its Pod was looked at. */
  tries: number;
  /** How often one could not be deleted. */
  failures: number;
  /** Whether a request is under way. */
  isRunning: boolean;
  /** Cancels the next look; undefined: none is planned. */
  retry: (() => void) | undefined;
}

/** What the binder keeps of a claim, for as long as the claim exists. */
export interface QueuedClaim extends Waiter {
  /** Parsed; a projection if `raw` is not kept. */
  claim: SandboxClaim;
  /**
   * The claim as observed, not parsed: a write must not add defaults that the client never wrote. Undefined: not kept,
   * so the full claim must be fetched.
   */
  raw: SandboxClaim | undefined;
  /** The last version that the watch has shown. */
  version: string;
  /** The version that the API server returned for a write of this process, until the watch shows it; undefined: none. */
  assumed: string | undefined;
  /** When the claim was first seen, in milliseconds since the epoch. */
  seenAt: number;
  /** Span for the start of the Sandbox that this binder bound to the claim; undefined: it is not starting, or not traced. */
  starting: Span | undefined;
  /** `idle`: the claim needs no Sandbox now; `unschedulable`: the claim cannot be served until something changes. */
  place: "idle" | "waiting" | "serving" | "unschedulable";
  failures: number;
  /** The claim is not served before this time, in milliseconds since the epoch. */
  notBefore: number;
  /** UIDs of members whose binding to this version of the claim the API server refused. */
  refused: string[];
  /** Name of a Sandbox that may or may not have become the claim's; undefined: there is none. */
  unsure: string | undefined;
  /** Resolves when the annotations for its member have been written, or the write has failed; undefined: no such write. */
  annotating: Promise<void> | undefined;
  /** Resolves when its status has been written, or the write has failed; undefined: no such write. */
  reporting: Promise<void> | undefined;
  reportFailures: number;
  /** Whether another report became due, or the claim changed, while a report was being written. */
  isOverdue: boolean;
  /** The planned retry of a report, and the kind of reports that wait for it; undefined: none is planned. */
  retry: { is: string | undefined; cancel: () => void } | undefined;
  /** Cancels the planned report of why the claim cannot be served; undefined: none is planned. */
  settling: (() => void) | undefined;
  /** Cancels the timer for its expiry; undefined: none is planned. */
  alarm: (() => void) | undefined;
  /** Why it cannot be served, how often that was reported, and the earliest time of the next report, in ms since the epoch. */
  refusal: { text: string; reports: number; notBefore: number } | undefined;
  delivery: DeliveryState;
  resizing: ResizeState;
  /** Why no pool member was resized for the claim while it asked for these resources; undefined: none was asked for. */
  notResized: { text: string; why: string } | undefined;
  /** Its Sandbox if that has ended, reduced to what the claim's status reports. */
  ended: Sandbox | undefined;
  /** Whether it has controlled a Sandbox since this process started. */
  hadSandbox: boolean;
  /** The term of leadership in which the watch has shown it last; undefined: this process did not lead. */
  shownIn: AbortSignal | undefined;
}

/**
 * Returns the API server's time, in milliseconds since the epoch. Expiries are judged by it: a claim that reports its
 * expiry does not become Ready again, and the clock of this process may be ahead.
 */
export function serverNow({ api, clock }: Pick<Binder, "api" | "clock">): number {
  return api.now?.() ?? clock.now();
}

/** Everything that a binder keeps between events. */
export interface Binder extends Required<Omit<BindOptions, "tracer" | "allowedAnnotationDomains">> {
  api: Api;
  tracer: Tracer | undefined;
  allowedAnnotationDomains?: readonly string[] | undefined;
  /** Undefined or aborted: this process does not lead. */
  term: AbortSignal | undefined;
  index: ClusterIndex;
  queue: SchedulingQueue<QueuedClaim>;
  refills: Refills;
  /** By UID. */
  claims: Map<string, QueuedClaim>;
  /** Claims that cannot be served until the claim, its pool or its template changes; by namespace and pool. */
  unschedulable: Map<string, Set<QueuedClaim>>;
  /** Claims that could get a member, but whose template is missing; by namespace and pool. */
  awaitingMember: Map<string, Set<QueuedClaim>>;
  /** Cancels the timer that schedules a pool's queue again; by namespace and pool. */
  timers: Map<string, () => void>;
  serving: number;
  /** How many jobs were put into `large`. */
  largeJobs: number;
  /** Serves claims whose full objects must be fetched. Each takes several times its size in memory. */
  large: WorkQueue;
  /** Pools, by namespace and name, that have lost members to claims and were not notified yet. */
  unreportedLosses: Set<string>;
  /** How many replacements of members will soon be created, by UID of the pool. */
  replacing: Map<string, number>;
  isScheduling: boolean;
  /** Writes reports of why claims cannot be served. */
  problemReports: WorkQueue;
  /** Writes all other reports. */
  reports: WorkQueue;
  /** Delivers what claims set. */
  deliveries: WorkQueue;
  /** Resizes Pods. */
  resizes: WorkQueue;
  /** Why members were not resized, and until when that counts (ms since the epoch); by namespace, pool and resources. */
  unresizable: Map<string, { why: string; until: number }>;
  isListed: boolean;
  /** Starts to serve as many claims as the limits allow. */
  schedule: () => void;
  /** Called when no claim is being served any more. */
  onIdle: () => void;
}

/**
 * Returns whether the claim must be read before it is served: only a projection of it is kept, it had a Sandbox already,
 * or the previous leader may have given it one. The watch may not have shown yet that the claim has reported the end of
 * that Sandbox, after which it gets no other.
 */
export function mustRead({ index, term }: Binder, { raw, hadSandbox, shownIn }: QueuedClaim): boolean {
  return raw === undefined || hadSandbox || (shownIn !== term && !index.freshness.isFresh());
}

/** Returns whether claims may be served: everything has been listed, and this process leads. */
export function isServing({ isListed, term }: Binder): boolean {
  return isListed && term !== undefined && !term.aborted;
}

/** Records that a pool has lost members to claims and must be notified. Ignores a pool that is gone. */
export function recordLoss(
  { index, unreportedLosses }: Binder,
  { metadata: { namespace = "", name, uid } }: SandboxWarmPool,
): void {
  if (index.pools.get(namespace, name)?.metadata.uid === uid) unreportedLosses.add(`${namespace}/${name}`);
}

/** Creates the entry of a claim that is seen for the first time. */
export function createQueuedClaim(claim: SandboxClaim, raw: SandboxClaim, now: number): QueuedClaim {
  const { uid = "", namespace = "", name, creationTimestamp = "", resourceVersion: version = "" } = claim.metadata;
  return {
    uid,
    namespace,
    pool: claim.spec.warmPoolRef.name,
    rank: `${creationTimestamp} ${name}`,
    claim,
    raw,
    version,
    assumed: undefined,
    seenAt: now,
    starting: undefined,
    place: "idle",
    failures: 0,
    notBefore: 0,
    refused: [],
    unsure: undefined,
    annotating: undefined,
    reporting: undefined,
    reportFailures: 0,
    isOverdue: false,
    retry: undefined,
    settling: undefined,
    alarm: undefined,
    refusal: undefined,
    delivery: { done: undefined, running: undefined, underway: undefined, failures: 0, discarded: 0, retry: undefined },
    resizing: {
      ...{ done: undefined, discarded: undefined, of: undefined, retry: undefined },
      ...{ since: 0, tries: 0, failures: 0, isRunning: false },
    },
    notResized: undefined,
    ended: undefined,
    hadSandbox: false,
    shownIn: undefined,
  };
}

/** Cancels the retry of a claim's report. */
export function dropRetry(entry: QueuedClaim): void {
  entry.retry?.cancel();
  entry.retry = undefined;
}

/** Cancels all timers of a claim. */
export function dropTimers(entry: QueuedClaim): void {
  dropRetry(entry);
  entry.delivery.retry?.();
  entry.delivery.retry = undefined;
  entry.resizing.retry?.();
  Object.assign(entry.resizing, { retry: undefined, of: undefined });
  entry.settling?.();
  entry.settling = undefined;
  entry.alarm?.();
  entry.alarm = undefined;
}

/** Replaces a claim by its projection if the full claim is not needed any more: it is large, or the hook handles it. */
export function dropUnread(entry: QueuedClaim, isHooks: boolean): void {
  const { raw, place } = entry;
  // A claim that is being served must stay the one that was chosen for.
  if (!raw || place === "serving") return;
  if (!isHooks && !isLarge(raw, MOST_KEPT)) return;
  entry.claim = projectClaim(entry.claim);
  entry.raw = undefined;
}

/** Takes a claim out of the queue. A claim that is being served is reconciled when that has finished. */
export function withdraw(binder: Binder, entry: QueuedClaim): void {
  if (entry.place === "serving") return;
  entry.settling?.();
  entry.settling = undefined;
  if (entry.place === "waiting") binder.queue.remove(entry);
  const key = keyOf(entry.namespace, entry.pool);
  for (const places of [binder.unschedulable, binder.awaitingMember]) {
    const entries = places.get(key);
    entries?.delete(entry);
    if (entries?.size === 0) places.delete(key);
  }
  entry.place = "idle";
}

/**
 * Stores a newer version of a claim. If the claim now asks for another pool, it leaves the queue. A refusal of an older
 * spec does not apply to the new one.
 */
export function updateClaim(binder: Binder, entry: QueuedClaim, claim: SandboxClaim, raw: SandboxClaim): void {
  const pool = claim.spec.warmPoolRef.name;
  if (pool !== entry.pool) withdraw(binder, entry);
  if (claim.metadata.generation !== entry.claim.metadata.generation) entry.refused = [];
  Object.assign(entry, { claim, raw, pool });
}

/**
 * Stores a claim that the API server returned, as if the watch had shown it.
 * @returns false if a newer version is known
 */
export function assumeWritten(binder: Binder, entry: QueuedClaim, raw: SandboxClaim): boolean {
  const { resourceVersion = "" } = raw.metadata;
  if (isNewer(entry.assumed ?? entry.version, resourceVersion)) return false;
  const claim = parseClaim(raw);
  if (!claim) return true;
  updateClaim(binder, entry, claim, raw);
  entry.assumed = resourceVersion;
  return true;
}

/**
 * Parses a claim as observed; undefined if it is invalid. To save memory, the result shares the parts that parsing does
 * not change.
 */
export function parseClaim(raw: SandboxClaim): SandboxClaim | undefined {
  const claim = sandboxClaimSchema.safeParse(raw).data;
  if (!claim) return undefined;
  const { env, volumeClaimTemplates, additionalPodMetadata } = raw.spec;
  return {
    ...claim,
    spec: {
      ...claim.spec,
      ...(env && { env }),
      ...(volumeClaimTemplates && { volumeClaimTemplates }),
      ...(additionalPodMetadata && { additionalPodMetadata }),
    },
  };
}

/** Fetches a full claim, not parsed; undefined if it is gone. @throws {Error} if the request fails */
export async function getClaim(api: Api, { metadata }: SandboxClaim): Promise<SandboxClaim | undefined> {
  const { namespace, name, uid } = metadata;
  const claim = await findRaw<SandboxClaim>(api, { kind: "SandboxClaim", resource: "sandboxclaims", namespace, name });
  return claim?.metadata.uid === uid ? claim : undefined;
}
