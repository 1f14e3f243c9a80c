/** The state of the binder: what it keeps of each claim, and of all claims together. @module */
import type { Span, Tracer } from "@opentelemetry/api";
import type { Sandbox } from "../api/sandbox.ts";
import { type SandboxClaim, sandboxClaimSchema } from "../api/sandboxclaim.ts";
import { isLarge } from "../api/objects/large.ts";
import { findRaw } from "../kube/find.ts";
import { isNewer } from "./assume.ts";
import { projectClaim } from "./store.ts";
import type { SandboxWarmPool } from "../api/sandboxwarmpool.ts";
import type { Api } from "../kube/api.ts";
import type { Clock } from "../process/clock.ts";
import type { Log } from "../process/log.ts";
import type { ClusterIndex } from "./clusterindex.ts";
import type { SchedulingQueue, Waiter } from "./queue.ts";
import type { Refills } from "./refills.ts";
import type { TemplatePolicy } from "../api/templatepolicy.ts";
import type { WorkQueue } from "../kube/workqueue.ts";

/** Claims of more are asked for once more when they are served, in characters of keys and values. Few have a tenth. */
const MOST_KEPT = 16 * 1024;

export interface BindOptions {
  log: Log;
  /** Domains of label keys that claims may use. */
  allowedLabelDomains: readonly string[];
  /** Whether sandboxes start without the NetworkPolicy of their template; each process passes the value of its flag. @default {"optional"} */
  templateNetworkPolicy?: TemplatePolicy;
  /** Domains of annotation keys that claims may use; undefined: any that is not reserved. */
  allowedAnnotationDomains?: readonly string[] | undefined;
  /** Claims that are served at once. @default the option's */
  binderWorkers?: number;
  /** @default {systemClock} */
  clock?: Clock;
  /** Called for each claim that was given a Sandbox. */
  onServed?: (served: Served) => void;
  /** Undefined: no spans. */
  tracer?: Tracer | undefined;
}

/** A claim that was given a Sandbox. */
export interface Served {
  kind: "warm" | "cold";
  /** For how long the claim had been known. */
  seconds: number;
  claim: SandboxClaim;
}

/** A claim, as long as it exists. */
export interface QueuedClaim extends Waiter {
  /** Parsed; a projection where `raw` is not kept. */
  claim: SandboxClaim;
  /**
   * As it was observed, untouched by the parser: what is sent back must not have defaults that were never written.
   * Undefined: not kept, so all of it has to be asked for.
   */
  raw: SandboxClaim | undefined;
  /** The version that the watch has shown last. */
  version: string;
  /** The version that the API server has answered to a write of this process, until the watch shows it; undefined: none. */
  assumed: string | undefined;
  /** When it was first seen, in milliseconds since the epoch. */
  seenAt: number;
  /** The start of the Sandbox that this binder gave it; undefined: none starts, or nobody traces it. */
  starting: Span | undefined;
  /** `idle`: nothing is to be given to it; `unschedulable`: cannot be served as things are. */
  place: "idle" | "waiting" | "serving" | "unschedulable";
  failures: number;
  /** Not served before, in milliseconds since the epoch. */
  notBefore: number;
  /** UIDs of members that the API server would not hand over to it as it is. */
  refused: string[];
  /** Name of a member of which nobody knows whether the claim was given it; undefined: there is none. */
  unsure: string | undefined;
  /** Ends when it has been annotated with the member that it gets, or that has failed; undefined: it was not. */
  annotating: Promise<void> | undefined;
  /** Ends when its status has been written, or that has failed; undefined: nobody writes it. */
  reporting: Promise<void> | undefined;
  reportFailures: number;
  /** Whether something was to be reported, or has changed, while a report was being written. */
  isOverdue: boolean;
  /** Cancels the next try of a report that failed; undefined: none is planned. */
  retry: (() => void) | undefined;
  /** Cancels the report of what keeps it from being served; undefined: none is planned. */
  settling: (() => void) | undefined;
  /** Cancels the look at its expiry; undefined: none is planned. */
  alarm: (() => void) | undefined;
  /** What keeps it from being served, how often that was reported, and from when on it may be, in milliseconds since the epoch. */
  refusal: { text: string; reports: number; notBefore: number } | undefined;
  /** Its Sandbox, if that has come to its end: no more of it than the claim reports. */
  ended: Sandbox | undefined;
}

/** All that a binder keeps between events. */
export interface Binder extends Required<Omit<BindOptions, "tracer" | "allowedAnnotationDomains">> {
  api: Api;
  tracer: Tracer | undefined;
  allowedAnnotationDomains?: readonly string[] | undefined;
  /** Undefined or fired: this process does not lead. */
  term: AbortSignal | undefined;
  index: ClusterIndex;
  queue: SchedulingQueue<QueuedClaim>;
  refills: Refills;
  /** By UID. */
  claims: Map<string, QueuedClaim>;
  /** Claims that cannot be served until claim, pool or template has changed, by namespace and pool. */
  unschedulable: Map<string, Set<QueuedClaim>>;
  /** Those that a member could be given, and of whose template nothing is known, by namespace and pool. */
  awaitingMember: Map<string, Set<QueuedClaim>>;
  /** Ends the wait of a line, by namespace and pool. */
  timers: Map<string, () => void>;
  serving: number;
  /** Serves those that have to be asked for: each takes several times its size. */
  large: WorkQueue;
  /** Pools, by namespace and name, that were not told yet of members that they have lost to claims. */
  untold: Set<string>;
  /** How many replacements of members are about to be made, by UID of the pool. */
  replacing: Map<string, number>;
  isScheduling: boolean;
  /** Reports why claims cannot be served. */
  problemReports: WorkQueue;
  /** Writes all other reports. */
  reports: WorkQueue;
  isListed: boolean;
  /** Begins to serve as many claims as may be. */
  schedule: () => void;
  /** Called when nothing is being served any more. */
  onIdle: () => void;
}

/** Tells whether claims may be served: everything is known, and this process leads. */
export function isServing({ isListed, term }: Binder): boolean {
  return isListed && term !== undefined && !term.aborted;
}

/** Takes note that a pool has lost members to claims, and has to be told; one that is gone never will be. */
export function noteLoss(
  { index, untold }: Binder,
  { metadata: { namespace = "", name, uid } }: SandboxWarmPool,
): void {
  if (index.pools.get(namespace, name)?.metadata.uid === uid) untold.add(`${namespace}/${name}`);
}

/** Makes the entry of a claim that is seen for the first time. */
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
    ended: undefined,
  };
}

/** Plans no further look at what is to be reported. */
export function dropRetry(entry: QueuedClaim): void {
  entry.retry?.();
  entry.retry = undefined;
}

/** Ends all timers of a claim. */
export function dropTimers(entry: QueuedClaim): void {
  dropRetry(entry);
  entry.settling?.();
  entry.settling = undefined;
  entry.alarm?.();
  entry.alarm = undefined;
}

/** Lets go of what is not read of a claim any more: it is large, or the hook's. */
export function dropUnread(entry: QueuedClaim, isHooks: boolean): void {
  const { raw, place } = entry;
  // What is served is what was chosen for.
  if (!raw || place === "serving") return;
  if (!isHooks && !isLarge(raw, MOST_KEPT)) return;
  entry.claim = projectClaim(entry.claim);
  entry.raw = undefined;
}

/** Takes over a claim as the API server has answered: as if the watch had shown it. @returns false: a newer one is known */
export function assumeWritten(entry: QueuedClaim, raw: SandboxClaim): boolean {
  const { resourceVersion = "" } = raw.metadata;
  if (isNewer(entry.assumed ?? entry.version, resourceVersion)) return false;
  const claim = parseClaim(raw);
  if (claim) Object.assign(entry, { claim, raw, assumed: resourceVersion });
  return true;
}

/** Parses a claim as it was observed; undefined: it cannot be read. What parsing leaves as it is, both share. */
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

/** Asks for all of a claim, untouched by a parser; undefined: it is gone. @throws {Error} if nobody knows */
export async function getClaim(api: Api, { metadata }: SandboxClaim): Promise<SandboxClaim | undefined> {
  const { namespace, name, uid } = metadata;
  const claim = await findRaw<SandboxClaim>(api, { kind: "SandboxClaim", resource: "sandboxclaims", namespace, name });
  return claim?.metadata.uid === uid ? claim : undefined;
}
