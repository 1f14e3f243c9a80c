/** Records Events, each until the API server has it: in a queue of its own, so that nothing else waits. @module */
import type { Log } from "../lib/log.ts";
import { type Answer, answerError, type Api, isOk, messageOf } from "../kube/api.ts";
import type { Duty } from "./duty.ts";
import { eventOf, type Occurrence } from "../kube/event.ts";
import { createQueue } from "./queue.ts";

export interface EventQueueOptions {
  api: Api;
  log: Log;
  /** Which process records, for people: its host. */
  instance: string;
  signal: AbortSignal;
}

/** Takes an occurrence to be recorded; returns at once. */
export type RecordEvent = (occurrence: Occurrence) => void;

/** Few at once: what the Events tell of is in greater haste. */
const CONCURRENCY = 2;
/** An Event that could not be recorded for so long is left out. */
const PATIENCE_MS = 300_000;

/** An occurrence in the queue; the metadata name its object, for the log. */
interface Pending {
  metadata: { uid: string; name: string; namespace: string };
  occurrence: Occurrence;
  since: Date;
}

/** Makes the queue. The same occurrence may come twice; the second one costs a request at most. */
export function createEventQueue({ api, log, instance, signal }: EventQueueOptions): RecordEvent {
  const queue = createQueue(eventDuty(api, log, instance), { log, concurrency: CONCURRENCY }, signal);
  return (occurrence) => {
    const { regarding: { name, namespace, uid }, reason, key } = occurrence;
    queue.observe({ metadata: { uid: `${uid} ${reason} ${key}`, name, namespace }, occurrence, since: new Date() });
  };
}

/** What is to be done after an answer. */
export type Verdict = "settled" | "refused" | "again";

/**
 * Reads the answer to a create.
 *
 * | answer | verdict |
 * |---|---|
 * | success; 409: it exists | settled |
 * | 404: no such namespace; 403: the namespace is going away | settled: there is nobody left to tell |
 * | 401, 408, 429, 5xx | again |
 * | any other | refused: it would be so the next time, too |
 */
export function eventVerdict(answer: Answer): Verdict {
  const { status } = answer;
  if (isOk(answer) || status === 409 || status === 404) return "settled";
  if (status === 403 && messageOf(answer).includes("because it is being terminated")) return "settled";
  return status === 401 || status === 408 || status === 429 || status >= 500 ? "again" : "refused";
}

function eventDuty(api: Api, log: Log, instance: string): Duty<Pending> {
  const settled = new WeakSet<Pending>();
  return {
    name: "events",
    memory: new Map(),
    dueAt: (pending, now) => settled.has(pending) ? undefined : now,
    async act(pending, now) {
      const { occurrence, since, metadata: { name, namespace } } = pending;
      // Whatever comes of the last try, there is no other.
      if (now - since.getTime() >= PATIENCE_MS) settled.add(pending);
      const path = `/apis/events.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/events`;
      const answer = await api.send({ method: "POST", path, body: eventOf(occurrence, instance, since) });
      const { reason } = occurrence;
      const verdict = eventVerdict(answer);
      if (verdict === "again") throw answerError(`record Event ${reason} of ${namespace}/${name}`, answer);
      settled.add(pending);
      if (verdict === "refused") log("warn", "Event refused", { namespace, name, reason, error: messageOf(answer) });
    },
  };
}
