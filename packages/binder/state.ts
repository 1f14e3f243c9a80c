/** What the binder keeps of each claim, and where a claim stands: in line, out of it, or aside. Serves nobody. @module */
import type { Span, Tracer } from "@opentelemetry/api";
import type { SandboxClaim } from "../api/sandboxclaim.ts";
import type { SandboxWarmPool } from "../api/sandboxwarmpool.ts";
import type { Api } from "../kube/api.ts";
import type { Clock } from "../process/clock.ts";
import { FIRST_OBSERVED_ANNOTATION, SANDBOX_NAME_ANNOTATION } from "../api/objects/keys.ts";
import type { Log } from "../process/log.ts";
import { wantsSandbox } from "./choose.ts";
import type { ClusterIndex } from "./clusterindex.ts";
import type { Lines, Waiter } from "./lines.ts";
import type { NoteLines } from "./notelines.ts";
import type { Refills } from "./refills.ts";
import type { TemplatePolicy } from "../api/templatepolicy.ts";
import type { Turns } from "../kube/turns.ts";

export interface BindOptions {
  log: Log;
  /** Domains of label keys that claims may use. */
  labelDomains: readonly string[];
  /** Whether sandboxes start without the NetworkPolicy of their template; each process passes the value of its flag. @default {"optional"} */
  templatePolicy?: TemplatePolicy;
  /** Domains of annotation keys that claims may use; undefined: any that is not reserved. */
  annotationDomains?: readonly string[] | undefined;
  /** Claims that are served at once. @default {40} */
  workers?: number;
  /** Longest time from the first missing member of a pool until it is told, in milliseconds. @default {5000} */
  refillDelayMs?: number;
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
  /** The version that was observed last. */
  version: string;
  /** When it was first seen, in milliseconds since the epoch. */
  seenAt: number;
  /** The start of the Sandbox that this binder gave it; undefined: none starts, or nobody traces it. */
  starting: Span | undefined;
  /** `idle`: has a Sandbox, or wants none; `parked`: cannot be served as things are. */
  place: "idle" | "waiting" | "serving" | "parked";
  failures: number;
  /** Not served before, in milliseconds since the epoch. */
  notBefore: number;
  /** UIDs of members that the API server would not hand over to it as it is. */
  refused: string[];
  /** Name of a member of which nobody knows whether the claim was given it; undefined: there is none. */
  unsure: string | undefined;
  /** Whether it has been, or is about to be, annotated with when it was first seen. */
  isNoted: boolean;
  /**
   * Resolves to the claim as annotated with the member that it got last, or to undefined if that failed. Undefined: the claim
   * was not annotated with a member.
   */
  noting: Promise<SandboxClaim | undefined> | undefined;
  /** Whether its first status was written, or is the hook's business. */
  isTold: boolean;
  /** Ends when its first status has been written, or that has failed; undefined: nobody writes it. */
  telling: Promise<void> | undefined;
  tellFailures: number;
  /** Cancels the next try of what could not be said; undefined: none is planned. */
  retry: (() => void) | undefined;
}

/** Annotations of a claim that are still to be written; `at`, when that was planned, in milliseconds since the epoch. */
export interface Notes {
  entry: Entry;
  annotations: Record<string, string>;
  at: number;
}

/** All that a binder keeps between events. */
export interface Binder extends Required<Omit<BindOptions, "tracer" | "annotationDomains">> {
  api: Api;
  tracer: Tracer | undefined;
  annotationDomains?: readonly string[] | undefined;
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
  /** Annotations that are still to be written. */
  notes: NoteLines;
  /** How many claims are being annotated. */
  noting: number;
  isListed: boolean;
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

/** Puts a claim where it belongs: in line, or out of it. It is served when the next ones are. */
export function consider(binder: Binder, entry: Entry): void {
  if (!isServing(binder) || entry.place === "serving") return;
  const isWanting = binder.claims.get(entry.uid) === entry && wantsSandbox(entry.claim, binder.clock.now()) &&
    binder.index.boundTo(entry.namespace, entry.uid) === undefined;
  if (!isWanting) {
    if (!entry.isTold) takeNote(binder, entry);
    return withdraw(binder, entry);
  }
  if (entry.place === "waiting") return binder.lines.wake(entry.namespace, entry.pool);
  withdraw(binder, entry);
  entry.place = "waiting";
  binder.lines.add(entry);
}

/** Plans to annotate a claim, once, with when it was first seen: its hook is not asked before that, and reports its status from then on. */
export function takeNote({ notes, claims, index, clock }: Binder, entry: Entry): void {
  const { uid, namespace, claim: { metadata }, seenAt } = entry;
  if (claims.get(uid) !== entry || metadata.deletionTimestamp !== undefined) return;
  if (entry.isNoted || metadata.annotations?.[FIRST_OBSERVED_ANNOTATION] !== undefined) return;
  const name = index.boundTo(namespace, uid);
  const annotations = {
    [FIRST_OBSERVED_ANNOTATION]: new Date(seenAt).toISOString(),
    ...name === undefined ? {} : { [SANDBOX_NAME_ANNOTATION]: name },
  };
  notes.put({ entry, annotations, at: clock.now() });
  entry.isNoted = true;
}

/** Makes the entry of a claim that is seen for the first time. */
export function createEntry(claim: SandboxClaim, raw: SandboxClaim, now: number): Entry {
  const { uid = "", namespace = "", name, creationTimestamp = "", resourceVersion: version = "" } = claim.metadata;
  return {
    version,
    ...{ uid, namespace, pool: claim.spec.warmPoolRef.name, rank: `${creationTimestamp} ${name}`, claim, raw },
    ...{ seenAt: now, place: "idle", failures: 0, notBefore: 0, refused: [], unsure: undefined },
    ...{ isNoted: false, noting: undefined, isTold: claim.status !== undefined, starting: undefined },
    ...{ telling: undefined, tellFailures: 0, retry: undefined },
  };
}

/** Takes a claim out of line; one that is being served is seen to when that is over. */
export function withdraw(binder: Binder, entry: Entry): void {
  if (entry.place === "serving") return;
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
