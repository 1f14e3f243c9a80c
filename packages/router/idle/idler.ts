/** Finds idle sandboxes and suspends them. @module */
import { timeAt } from "../../kube/api.ts";
import { sleep } from "../../kube/backoff.ts";
import { errorFields, type Log } from "../../process/log.ts";
import type { SandboxRecord } from "../index/records.ts";
import type { SandboxEntry } from "../index/sandboxindex.ts";
import { activityOf, type ActivitySample, isHeldByLease, nextBaseline, requestActivity } from "./activity.ts";
import { decideIdle, type IdleDecision, type IdlePolicy, isActiveTimeOver, policyOf } from "./decision.ts";
import {
  activityIntervalMs,
  createTraffic,
  lastRequested,
  lastUse,
  recordedActivity,
  type Traffic,
} from "./lastuse.ts";
import {
  expire,
  idleSince,
  recordActivity,
  recordSuspendedEvent,
  restoreLifetime,
  suspend,
  type SuspendParts,
} from "./suspend.ts";

interface IdlerParts extends SuspendParts {
  /** False: nothing is suspended, but this router still records traffic in annotations for other routers. */
  idle: boolean;
  log: Log;
  /** Time between two checks of all sandboxes, in milliseconds. */
  idleCheckInterval: number;
  /** The port of runtimes in sandboxes. */
  runtimePort: number;
  onSuspended(namespace: string, reason: string): void;
}

interface Idler {
  traffic: Traffic;
  /** Checks all sandboxes again and again, until `signal` fires. */
  run(signal: AbortSignal): Promise<void>;
  /** Checks all sandboxes once. */
  checkAll(): Promise<void>;
}

/** Sandboxes that are checked at a time; each costs two requests. */
const CHECKS_AT_ONCE = 8;

/** Creates the idler. A Sandbox without an idle annotation is never idle, and the router does not call its runtime. */
export function createIdler(parts: IdlerParts): Idler {
  const samples = new Map<string, ActivitySample>();
  const generations: Generations = new Map();
  const logged = (work: Promise<unknown>, entry: SandboxEntry) =>
    work.catch((error) => {
      const { namespace, name } = entry.sandbox.metadata;
      parts.log("warn", "Cannot look after an idle Sandbox", {
        namespace,
        name,
        ...errorFields(error),
        stack: undefined,
      });
    });
  const traffic = createTraffic(() => performance.now(), (namespace, name) => {
    const entry = parts.index.find(namespace, name);
    const now = timeAt(parts.api);
    if (entry && isActivityDue(entry, now)) logged(recordActivity(parts, entry.sandbox, new Date(now)), entry);
  });
  const idler: Idler = {
    traffic,
    async checkAll() {
      traffic.prune((namespace, name) => parts.index.find(namespace, name) !== undefined);
      if (!parts.idle) return;
      const managed = [...parts.index.entries()].filter(({ sandbox }) => isManaged(sandbox));
      const known = new Set(managed.map(({ sandbox }) => sandbox.metadata.uid));
      for (const map of [samples, generations]) for (const uid of map.keys()) if (!known.has(uid)) map.delete(uid);
      const next = async () => {
        for (let entry = managed.pop(); entry; entry = managed.pop()) {
          // A restored backup may describe an old suspension: the Sandbox may have been used since then.
          const isLeftAlone = isSetBack(generations, entry.sandbox) && entry.sandbox.isSuspended;
          if (!isLeftAlone) await logged(checkSandbox(parts, traffic, samples, entry), entry);
        }
      };
      await Promise.all(Array.from({ length: CHECKS_AT_ONCE }, next));
    },
    async run(signal) {
      for (;;) {
        await sleep(parts.idleCheckInterval, signal);
        if (signal.aborted) return;
        await idler.checkAll();
      }
    },
  };
  return idler;
}

/** The generation of each Sandbox by UID, and whether a restore of etcd has set the Sandbox back to it. */
type Generations = Map<string, { generation: number; isSetBack: boolean }>;

/**
 * Records the generation of a Sandbox. Returns whether a restore of etcd has set it back, until the generation changes.
 */
function isSetBack(generations: Generations, { metadata: { uid, generation } }: SandboxRecord): boolean {
  const before = generations.get(uid);
  if (before?.generation === generation) return before.isSetBack;
  const isSetBack = before !== undefined && generation < before.generation;
  generations.set(uid, { generation, isSetBack });
  return isSetBack;
}

/** Unclaimed members of a pool are never idle: the pool keeps them running for future claims. */
function isManaged(sandbox: SandboxRecord): boolean {
  const isDue = policyOf(sandbox) !== undefined || sandbox.calledOff !== undefined;
  return isDue && !sandbox.isDeleting && !sandbox.isUnclaimed;
}

function isActivityDue({ sandbox }: SandboxEntry, now: number): boolean {
  const policy = policyOf(sandbox);
  // If the time is in the future, the clock of the router that wrote it is wrong.
  return policy !== undefined && !sandbox.isSuspended &&
    Math.abs(now - recordedActivity(sandbox).at) >= activityIntervalMs(policy);
}

async function checkSandbox(
  parts: IdlerParts,
  traffic: Traffic,
  samples: Map<string, ActivitySample>,
  entry: SandboxEntry,
): Promise<void> {
  const { sandbox } = entry;
  const { namespace, name, uid } = sandbox.metadata;
  if (sandbox.calledOff) return void await restoreLifetime(parts, sandbox);
  const policy = policyOf(sandbox) as IdlePolicy;
  const now = timeAt(parts.api);
  if (sandbox.isSuspended) return await checkSuspended(parts, entry, policy, now);
  const use = traffic.useOf(namespace, name);
  if ((use?.open ?? 0) > 0 && isActivityDue(entry, now)) return await recordActivity(parts, sandbox, new Date(now));
  const secondsSince = (last: typeof lastUse | typeof lastRequested, instant: number) => {
    const clock = { me: parts.identity, now: instant, counted: performance.now() };
    return (instant - last(entry, policy, traffic.useOf(namespace, name), clock)) / 1000;
  };
  const open = use?.open ?? 0;
  const pods = [...entry.pods.values()].filter(({ metadata }) => !entry.lost.has(metadata.uid));
  const pod = pods.find(({ isReady, isDeleting }) => isReady && !isDeleting);
  const isIdle = pod !== undefined && secondsSince(lastUse, now) >= policy.idleSeconds;
  // A Pod that runs without being Ready counts as working, too.
  const isRunning = pods.some(({ phase, isDeleting }) => phase === "Running" && !isDeleting);
  // The runtime is asked only if its answer can change the decision.
  if (open > 0 || !(isIdle || isRunning && isActiveTimeOver(policy, secondsSince(lastRequested, now)))) {
    return void samples.delete(uid);
  }
  const isHeld = await isHeldByLease(parts.api, namespace, name, now);
  const answer = pod?.address === undefined || pod.usesHostNetwork
    ? undefined
    : await requestActivity(pod.address, parts.runtimePort, undefined, pod.metadata.uid);
  const before = samples.get(uid);
  const activity = typeof answer === "object" ? activityOf(before, answer) : answer;
  if (typeof answer === "object") samples.set(uid, nextBaseline(before, answer));
  // A request may have arrived while the runtime was asked.
  const later = traffic.useOf(namespace, name)?.open ?? 0;
  // No await from here to the patch: requests that arrive later wait for its outcome.
  const instant = timeAt(parts.api);
  const [quietSeconds, unaskedSeconds] = [secondsSince(lastUse, instant), secondsSince(lastRequested, instant)];
  const observed = { open: later, quietSeconds, unaskedSeconds, activity, isHeld };
  await carryOut(parts, entry, sandbox, decideIdle(policy, observed));
}

async function carryOut(
  parts: IdlerParts,
  entry: SandboxEntry,
  sandbox: SandboxRecord,
  decision: IdleDecision,
): Promise<void> {
  const { namespace, name, uid } = sandbox.metadata;
  const { log, onSuspended } = parts;
  if (!decision.suspend) return log("debug", "Not idle", { namespace, name, uid, because: decision.because });
  const { reason, note } = decision;
  const suspension = { reason, note, now: new Date(timeAt(parts.api)) };
  entry.isBeingSuspended = true;
  try {
    if (!await suspend(parts, sandbox, suspension)) return;
  } finally {
    entry.isBeingSuspended = false;
    // Requests that wait for the outcome check again.
    parts.index.answered(entry.sandbox);
  }
  onSuspended(namespace, reason);
  log("info", "Suspended", { namespace, name, uid, reason, note });
  await recordSuspendedEvent(parts, sandbox, suspension);
}

/**
 * Lets a Sandbox expire only if a router has suspended it and it has not changed since: a user's own suspension stays.
 */
async function checkSuspended(
  parts: IdlerParts,
  { sandbox }: SandboxEntry,
  policy: IdlePolicy,
  now: number,
): Promise<void> {
  const { namespace, name, uid } = sandbox.metadata;
  const since = idleSince(sandbox);
  const isDue = policy.deleteSeconds !== undefined && since !== undefined && now - since >= policy.deleteSeconds * 1000;
  if (!isDue || sandbox.expiresAt !== undefined && sandbox.expiresAt <= now) return;
  if (await isHeldByLease(parts.api, namespace, name, now)) return;
  if (!await expire(parts, sandbox, new Date(now))) return;
  parts.log("info", "Suspended for long enough to expire", { namespace, name, uid });
}
