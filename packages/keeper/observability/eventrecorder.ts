/**
 * Records Kubernetes Events: finds occurrences in observed objects, each once, and retries until the API server has
 * stored the Event.
 * @module
 */
import { type Answer, answerError, type Api, isOk, messageOf } from "../../kube/api.ts";
import { eventOf, isYoung, type Occurrence } from "../../kube/event.ts";
import type { EventHandler } from "../../kube/watch.ts";
import type { Log } from "../../process/log.ts";
import type { ObjectMeta } from "../../api/objects/objects.ts";
import { createReconcileQueue, type Reconciler } from "../../kube/reconcilequeue.ts";

/** What an observed object shows. */
export interface Sight {
  /** The state of the object; undefined: no state to remember. */
  mark?: string | undefined;
  /** What has happened, if that state is new. */
  occurrence?: Occurrence | undefined;
}

/** Reads an object. `before` is its last mark; undefined: it had none, or has not been seen. Must be a pure function. */
type EventRule<T> = (object: T, before: string | undefined) => Sight;

/**
 * Creates the event handler. An occurrence in the first list is recorded only if it is recent: an older one may have
 * been recorded by another process, and its Event may have expired. Later occurrences are always recorded.
 */
export function eventSource<T extends { metadata: ObjectMeta }>(
  rule: EventRule<T>,
  record: RecordEvent,
): EventHandler<T> {
  const marks = new Map<string, string>();
  let isListed = false;
  return {
    observe(object) {
      const { uid = "" } = object.metadata;
      const before = marks.get(uid);
      const { mark, occurrence } = rule(object, before);
      if (mark === undefined) marks.delete(uid);
      else marks.set(uid, mark);
      if (!occurrence || mark === before) return;
      if (isListed || isYoung(occurrence, Date.now())) record(occurrence);
    },
    gone: (uid) => marks.delete(uid),
    listed() {
      isListed = true;
    },
  };
}

export interface EventQueueOptions {
  api: Api;
  log: Log;
  /** Name of the recording process, for people: its host. */
  instance: string;
  signal: AbortSignal;
}

/** Queues an occurrence to be recorded; returns at once. */
export type RecordEvent = (occurrence: Occurrence) => void;

/** Requests at the same time. Few, because the work that Events report on is more urgent. */
const CONCURRENCY = 2;
/** An Event that could not be recorded within this time is dropped. */
const PATIENCE_MS = 300_000;

/** A queued occurrence. The metadata identifies its object, for the log. */
interface Pending {
  metadata: { uid: string; name: string; namespace: string };
  occurrence: Occurrence;
  since: Date;
}

/** Creates the queue. If the same occurrence is queued twice, the second costs at most one request. */
export function createEventQueue({ api, log, instance, signal }: EventQueueOptions): RecordEvent {
  const queue = createReconcileQueue(eventReconciler(api, log, instance), { log, concurrency: CONCURRENCY }, signal);
  return (occurrence) => {
    const { regarding: { name, namespace, uid }, reason, key } = occurrence;
    queue.observe({ metadata: { uid: `${uid} ${reason} ${key}`, name, namespace }, occurrence, since: new Date() });
  };
}

/** What to do after an answer. */
export type Verdict = "settled" | "refused" | "again";

/**
 * Interprets the answer to a create request.
 *
 * | answer | verdict |
 * |---|---|
 * | success; 409: the Event exists | settled |
 * | 404: no such namespace; 403: the namespace is being deleted | settled: the Event has no place any more |
 * | 401, 408, 429, 5xx | again |
 * | any other | refused: a retry would be refused as well |
 */
export function eventVerdict(answer: Answer): Verdict {
  const { status } = answer;
  if (isOk(answer) || status === 409 || status === 404) return "settled";
  if (status === 403 && messageOf(answer).includes("because it is being terminated")) return "settled";
  return status === 401 || status === 408 || status === 429 || status >= 500 ? "again" : "refused";
}

function eventReconciler(api: Api, log: Log, instance: string): Reconciler<Pending> {
  const settled = new WeakSet<Pending>();
  return {
    name: "events",
    memory: new Map(),
    dueAt: (pending, now) => settled.has(pending) ? undefined : now,
    async reconcile(pending, now) {
      const { occurrence, since, metadata: { name, namespace } } = pending;
      // This is the last try, whatever its result.
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
