/** When duties act: one timer for each object, a few at once, never one object twice at once. Decides nothing. @module */
import { errorFields, type Log } from "../lib/log.ts";
import type { ObjectMeta } from "../lib/objects.ts";
import { backoffMs } from "./backoff.ts";
import type { Duty, Sink } from "./duty.ts";

export interface QueueOptions {
  log: Log;
  /** Acts at once. @default {4} */
  concurrency?: number;
}

interface Entry<T> {
  object: T;
  timer?: ReturnType<typeof setTimeout>;
  state: "waiting" | "ready" | "acting" | "gone";
  failures: number;
  /** After a failure: not before. */
  notBefore: number;
}

/** Timers of Node take no more than 2^31 ms. */
const LONGEST_TIMER_MS = 86_400_000;

/** Makes the queue of one duty. `signal` ends it: no further act begins. */
export function createQueue<T extends { metadata: ObjectMeta }>(
  duty: Duty<T>,
  { log, concurrency = 4 }: QueueOptions,
  signal: AbortSignal,
): Sink<T> {
  const entries = new Map<string, Entry<T>>();
  const ready: Entry<T>[] = [];
  let acting = 0;

  function plan(entry: Entry<T>): void {
    clearTimeout(entry.timer);
    if (signal.aborted || entry.state !== "waiting") return;
    const now = Date.now();
    const due = duty.dueAt(entry.object, now);
    if (due === undefined) {
      entries.delete(uidOf(entry.object));
      return;
    }
    const wait = Math.max(due, entry.notBefore) - now;
    if (wait > 0) entry.timer = setTimeout(plan, Math.min(wait, LONGEST_TIMER_MS), entry);
    else enqueue(entry);
  }

  function enqueue(entry: Entry<T>): void {
    entry.state = "ready";
    ready.push(entry);
    pump();
  }

  function pump(): void {
    while (acting < concurrency && !signal.aborted) {
      const entry = ready.shift();
      if (!entry) return;
      if (entry.state === "ready" && isStillDue(entry)) void act(entry);
    }
  }

  /** The object may have changed while it stood in line. */
  function isStillDue(entry: Entry<T>): boolean {
    const now = Date.now();
    if ((duty.dueAt(entry.object, now) ?? Infinity) <= now) return true;
    entry.state = "waiting";
    plan(entry);
    return false;
  }

  async function act(entry: Entry<T>): Promise<void> {
    entry.state = "acting";
    acting++;
    try {
      await duty.act(entry.object, Date.now());
      entry.failures = 0;
      entry.notBefore = 0;
    } catch (error) {
      entry.notBefore = Date.now() + backoffMs(entry.failures++);
      const { namespace, name } = entry.object.metadata;
      if (!signal.aborted) log("error", `Duty ${duty.name} failed`, { namespace, name, ...errorFields(error) });
    }
    acting--;
    settle(entry);
    pump();
  }

  function settle(entry: Entry<T>): void {
    if (entry.state === "gone") duty.memory.delete(uidOf(entry.object));
    else entry.state = "waiting";
    plan(entry);
  }

  const sink: Sink<T> = {
    observe(object) {
      const known = entries.get(uidOf(object));
      if (known) known.object = object;
      const entry = known ?? { object, state: "waiting", failures: 0, notBefore: 0 };
      if (!known) entries.set(uidOf(object), entry);
      plan(entry);
    },
    gone(uid) {
      const entry = entries.get(uid);
      clearTimeout(entry?.timer);
      if (entry) entry.state = "gone";
      entries.delete(uid);
      duty.memory.delete(uid);
    },
    listed(uids) {
      for (const uid of [...entries.keys(), ...duty.memory.keys()]) if (!uids.has(uid)) sink.gone(uid);
    },
  };
  signal.addEventListener("abort", () => {
    for (const entry of entries.values()) clearTimeout(entry.timer);
  });
  return sink;
}

function uidOf(object: { metadata: ObjectMeta }): string {
  return object.metadata.uid ?? "";
}
