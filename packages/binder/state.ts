/** What the binder keeps of each claim, and where a claim is: in line, out of it, or aside. Serves nobody. @module */
import type { Span, Tracer } from "@opentelemetry/api";
import type { Sandbox } from "../api/sandbox.ts";
import type { SandboxClaim } from "../api/sandboxclaim.ts";
import type { SandboxWarmPool } from "../api/sandboxwarmpool.ts";
import type { Api } from "../kube/api.ts";
import type { Clock } from "../process/clock.ts";
import type { Log } from "../process/log.ts";
import type { ClusterIndex } from "./clusterindex.ts";
import type { Lines, Waiter } from "./lines.ts";
import type { Refills } from "./refills.ts";
import type { TemplatePolicy } from "../api/templatepolicy.ts";
import type { Turns } from "../kube/turns.ts";

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
  /** Longest time from the first missing member of a pool until it is told. @default the option's */
  refillDelaySeconds?: number;
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
export interface Entry extends Waiter {
  /** Parsed; an outline where `raw` is not kept. */
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
  /** `idle`: nothing is to be given to it; `parked`: cannot be served as things are. */
  place: "idle" | "waiting" | "serving" | "parked";
  failures: number;
  /** Not served before, in milliseconds since the epoch. */
  notBefore: number;
  /** UIDs of members that the API server would not hand over to it as it is. */
  refused: string[];
  /** Name of a member of which nobody knows whether the claim was given it; undefined: there is none. */
  unsure: string | undefined;
  /** Ends when it has been annotated with the member that it gets, or that has failed; undefined: it was not. */
  noting: Promise<void> | undefined;
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
  lines: Lines<Entry>;
  refills: Refills;
  /** By UID. */
  claims: Map<string, Entry>;
  /** Claims that cannot be served until claim, pool or template has changed, by namespace and pool. */
  parked: Map<string, Set<Entry>>;
  /** Those that a member could be given, and of whose template nothing is known, by namespace and pool. */
  awaitingMember: Map<string, Set<Entry>>;
  /** Ends the wait of a line, by namespace and pool. */
  timers: Map<string, () => void>;
  serving: number;
  /** Serves those that have to be asked for: each takes several times its size. */
  large: Turns;
  /** Pools, by namespace and name, that were not told yet of members that they have lost to claims. */
  untold: Set<string>;
  /** How many replacements of members are about to be made, by UID of the pool. */
  replacing: Map<string, number>;
  isPumping: boolean;
  /** Reports why claims cannot be served. */
  problemReports: Turns;
  /** Writes all other reports. */
  reports: Turns;
  isListed: boolean;
  /** Begins to serve as many claims as may be. */
  pump: () => void;
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
  if (index.pool(namespace, name)?.metadata.uid === uid) untold.add(`${namespace}/${name}`);
}

/** Makes the entry of a claim that is seen for the first time. */
export function createEntry(claim: SandboxClaim, raw: SandboxClaim, now: number): Entry {
  const { uid = "", namespace = "", name, creationTimestamp = "", resourceVersion: version = "" } = claim.metadata;
  return {
    version,
    ...{ uid, namespace, pool: claim.spec.warmPoolRef.name, rank: `${creationTimestamp} ${name}`, claim, raw },
    ...{ seenAt: now, place: "idle", failures: 0, notBefore: 0, refused: [], unsure: undefined },
    ...{
      assumed: undefined,
      noting: undefined,
      starting: undefined,
      reporting: undefined,
      reportFailures: 0,
      isOverdue: false,
    },
    ...{ retry: undefined, settling: undefined, alarm: undefined, refusal: undefined, ended: undefined },
  };
}

/** Takes a claim out of line; one that is being served is seen to when that is over. */
export function withdraw(binder: Binder, entry: Entry): void {
  if (entry.place === "serving") return;
  entry.settling?.();
  entry.settling = undefined;
  if (entry.place === "waiting") binder.lines.remove(entry);
  const key = keyOf(entry);
  for (const places of [binder.parked, binder.awaitingMember]) {
    const entries = places.get(key);
    entries?.delete(entry);
    if (entries?.size === 0) places.delete(key);
  }
  entry.place = "idle";
}

/** Sets a claim aside until its pool or template has changed, or it has; with `awaitsMember` a member of the pool is enough. */
export function park(binder: Binder, entry: Entry, awaitsMember: boolean): void {
  entry.place = "parked";
  const places = awaitsMember ? binder.awaitingMember : binder.parked;
  const key = keyOf(entry);
  places.set(key, (places.get(key) ?? new Set<Entry>()).add(entry));
}

function keyOf({ namespace, pool }: Waiter): string {
  return `${namespace}/${pool}`;
}

/** Plans no further look at what is to be reported. */
export function dropRetry(entry: Entry): void {
  entry.retry?.();
  entry.retry = undefined;
}

/** Ends all timers of a claim. */
export function dropTimers(entry: Entry): void {
  dropRetry(entry);
  entry.settling?.();
  entry.settling = undefined;
  entry.alarm?.();
  entry.alarm = undefined;
}
