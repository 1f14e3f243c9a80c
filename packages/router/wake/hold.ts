/** Finds the address of a sandbox: at once, or after holding the request while the sandbox wakes or starts. @module */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { WAKE_ANNOTATION } from "../../api/router/protocol.ts";
import type { Target } from "../destination.ts";
import { addressFor, type Reachability, reachabilityOf } from "../index/reachability.ts";
import type { Lookup } from "../index/sandboxapi.ts";
import type { SandboxIndex } from "../index/sandboxindex.ts";
import { createNamespaceLimit, type RateLimit } from "../limits.ts";
import { isGone } from "../proxy/versions.ts";
import { type Refusal, timedOut, tooMany } from "../refusal.ts";
import { isNavigation, sendPage } from "./page.ts";
import type { RecentWakes, Wake } from "./waker.ts";

/** Ways to find a sandbox's address, and the reason why a client has to wait. */
export interface Locator {
  /** The address or a refusal, without waiting; undefined: call {@link Locator.hold}. */
  now(target: Target): string | Refusal | undefined;
  hold: Hold;
  reachability(target: Target): Reachability;
  mayNotListenYet: RecentWakes["mayNotListenYet"];
}

/** Creates the locator. @param now in milliseconds since the epoch */
export function createLocator(
  index: SandboxIndex,
  hold: Hold,
  recentWakes: RecentWakes,
  now: () => number = Date.now,
): Locator {
  return {
    hold,
    mayNotListenYet: recentWakes.mayNotListenYet,
    now(target) {
      const entry = index.find(target.namespace, target.name);
      const reachability = reachabilityOf(target, entry, now());
      if (reachability.state === "reachable") return addressFor(target, reachability, entry);
      return reachability.state === "refused" && !reachability.mayLag ? reachability.refusal : undefined;
    },
    reachability: (target) => reachabilityOf(target, index.find(target.namespace, target.name), now()),
  };
}

/** The outcome of a wait, and a Server-Timing header with the time of each step. */
interface HoldResult {
  address: string | Refusal;
  timing: string;
  /** Duration of the wait, in milliseconds. */
  ms: number;
}

/**
 * Waits until the sandbox can be reached. When `signal` fires, it ends early with a refusal that nobody reads.
 *
 * @param comesBack true: the client will return, so a suspended sandbox is woken even after `signal` has fired
 */
type Hold = (target: Target, signal: AbortSignal, comesBack?: boolean) => Promise<HoldResult>;

interface HoldParts {
  index: SandboxIndex;
  /** In milliseconds since the epoch. @default {Date.now} */
  now?: () => number;
  lookUp: Lookup;
  waker: Wake;
  /** Limits wakes for each namespace. */
  wakeLimit: RateLimit;
  /** False: requests do not wake sandboxes. */
  wake: boolean;
  wakeTimeout: number;
  /** Most requests that wait at a time. */
  maxHeldRequests: number;
  onHeld(change: 1 | -1): void;
  recentWakes: RecentWakes;
}

const GONE: Refusal = { status: 499, detail: "The client has gone." };
/** Longest time between two checks: a Sandbox can expire, or fail for too long, without an event. */
const TICK_MS = 1000;
/** How long a request for a suspended sandbox waits for the watch to show that it was resumed, in milliseconds. */
const LAG_MS = 300;

/** Most requests that wait for one sandbox: each of them checks again on every change of it. */
const MOST_FOR_ONE = 500;

/** Creates the function that holds requests. */
export function createHold(parts: HoldParts): Hold {
  const namespaceLimit = createNamespaceLimit(parts.maxHeldRequests, "wait for sandboxes");
  const waiting = new Map<string, number>();
  return async (target, signal, comesBack = false) => {
    const { namespace, name } = target;
    const key = `${namespace}/${name}`;
    const own = waiting.get(key) ?? 0;
    const detail = `${own} requests wait for sandbox ${key} already.`;
    const release = own >= MOST_FOR_ONE
      ? { status: 503, detail, headers: { "Retry-After": "1" } }
      : namespaceLimit(namespace);
    if (typeof release === "object") return { address: release, timing: "", ms: 0 };
    waiting.set(key, own + 1);
    parts.onHeld(1);
    try {
      return await waitUntilReachable(parts, target, signal, comesBack);
    } finally {
      const left = (waiting.get(key) ?? 0) - 1;
      if (left > 0) waiting.set(key, left);
      else waiting.delete(key);
      parts.onHeld(-1);
      release();
    }
  };
}

async function waitUntilReachable(
  parts: HoldParts,
  target: Target,
  signal: AbortSignal,
  comesBack: boolean,
): Promise<HoldResult> {
  const { index, lookUp, wakeTimeout, now = Date.now } = parts;
  const { namespace, name } = target;
  const startedAt = performance.now();
  const deadline = startedAt + wakeTimeout;
  const stopwatch = createStopwatch(startedAt);
  const end = (address: string | Refusal): HoldResult => {
    const ended = performance.now();
    return { address, timing: stopwatch.stop(ended), ms: ended - startedAt };
  };
  let hasLooked = false;
  let hasWoken = false;
  let hasWaited = false;
  while (comesBack || !signal.aborted) {
    const entry = index.find(namespace, name);
    const reachability = reachabilityOf(target, entry, now());
    if (reachability.state === "reachable") {
      if (hasWaited) parts.recentWakes.reached(target, startedAt);
      return end(addressFor(target, reachability, entry));
    }
    if (reachability.state === "refused") {
      if (hasLooked || !reachability.mayLag) return end(reachability.refusal);
      hasLooked = true;
      stopwatch.enter("look", performance.now());
      await lookUp(namespace, name);
      continue;
    }
    hasWaited = true;
    // A sandbox that its client has just resumed may still look suspended. A request that wakes it does no harm, though.
    if (reachability.state === "suspended" && target.wakes === false && !hasLooked) {
      hasLooked = true;
      stopwatch.enter("look", performance.now());
      await lookUp(namespace, name);
      // The look-up is limited, so it may have been left out.
      if (index.find(namespace, name)?.sandbox.isSuspended) await nextChange(index, target, LAG_MS, signal);
      continue;
    }
    if (reachability.state === "suspended") {
      stopwatch.enter("wake", performance.now());
      const refusal = hasWoken ? suspendedAgain(target) : await wakeOnce(parts, target);
      if (refusal) return end(refusal);
      hasWoken = true;
      continue;
    }
    // The sandbox is starting already, and needs no further action.
    if (signal.aborted) break;
    stopwatch.enter(reachability.phase, performance.now());
    const left = deadline - performance.now();
    if (left <= 0) {
      return end(timedOut(name, `${reachability.phase} for ${wakeTimeout / 1000} s: ${reachability.cause}`));
    }
    await nextChange(index, target, Math.min(left, TICK_MS), signal);
  }
  return end(GONE);
}

function suspendedAgain({ namespace, name }: Target): Refusal {
  return { status: 503, detail: `Sandbox ${namespace}/${name} was suspended again before it was Ready.` };
}

async function wakeOnce(
  { index, wake, waker, wakeLimit }: HoldParts,
  target: Target,
): Promise<Refusal | undefined> {
  const { namespace, name, wakes: isWorthIt = true } = target;
  const { sandbox } = index.find(namespace, name) ?? {};
  if (!wake || !isWorthIt || sandbox?.annotations[WAKE_ANNOTATION] === "false") {
    const detail = `Sandbox ${namespace}/${name} is suspended, and requests do not wake it.`;
    return { status: 503, detail, state: "suspended" };
  }
  return await waker(namespace, name, () => refusalOfBudget(namespace, wakeLimit));
}

function refusalOfBudget(namespace: string, wakeLimit: RateLimit): Refusal | undefined {
  const seconds = wakeLimit(namespace, performance.now());
  if (seconds === 0) return undefined;
  return tooMany(`Namespace ${namespace} has woken too many sandboxes: try again in ${seconds} s.`, seconds);
}

/** Waits until the Sandbox or its Pods change, at most `ms` milliseconds. */
function nextChange(index: SandboxIndex, { namespace, name }: Target, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      unlisten();
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    const unlisten = index.onChange(namespace, name, end);
    signal.addEventListener("abort", end);
  });
}

/** A browser sees no page if its request can be forwarded within this time, in milliseconds. */
const WITHOUT_PAGE_MS = 700;

/**
 * Waits for the sandbox of a request. A browser gets a page instead if that takes long.
 *
 * @returns undefined if the client has been answered, or has disconnected
 */
export async function waitFor(
  { hold }: Locator,
  target: Target,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<HoldResult | undefined> {
  const waitsForAnswer = !isNavigation(request);
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  // For a browser, waking goes on after the page is sent: the page requests the address again.
  const holding = hold(target, gone.signal, !waitsForAnswer);
  const held = waitsForAnswer ? await holding : await Promise.race([holding, pause(WITHOUT_PAGE_MS)]);
  if (isGone(response)) return undefined;
  if (!held) sendPage(response, target.namespace, target.name);
  return held;
}

/** Waits for the sandbox of a request to switch protocols; undefined if the client has disconnected. */
export async function waitForUpgrade(
  { hold }: Locator,
  target: Target,
  socket: Socket,
): Promise<HoldResult | undefined> {
  const gone = new AbortController();
  const abort = () => gone.abort();
  // Only a stream with a listener reports its end. Data that arrives during the wait stays in the buffer.
  const onReadable = () => {};
  socket.on("readable", onReadable).once("end", abort).once("close", abort);
  const held = await hold(target, gone.signal);
  socket.off("readable", onReadable).off("end", abort).off("close", abort);
  return socket.destroyed || gone.signal.aborted ? void socket.destroy() : held;
}

function pause(ms: number): Promise<undefined> {
  return new Promise((resolve) => setTimeout(() => resolve(undefined), ms));
}

interface Stopwatch {
  /** Begins a step, or continues a step of that name. Times in milliseconds. */
  enter(part: string, now: number): void;
  /** Returns the header's value: every step in order, and the total as `hold`. */
  stop(now: number): string;
}

/** Creates a running stopwatch. */
export function createStopwatch(startedAt: number): Stopwatch {
  const parts = new Map<string, number>();
  let current: string | undefined;
  let since = startedAt;
  const settle = (now: number) => {
    if (current !== undefined) parts.set(current, (parts.get(current) ?? 0) + now - since);
    since = now;
  };
  return {
    enter(part, now) {
      settle(now);
      current = part;
    },
    stop(now) {
      settle(now);
      const metrics = [...parts, ["hold", now - startedAt] as const];
      return metrics.map(([part, ms]) => `${part.replaceAll(" ", "-")};dur=${ms.toFixed(1)}`).join(", ");
    },
  };
}
