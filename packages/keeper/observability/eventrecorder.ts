/** Records Events: watches objects for what is worth one, each occurrence once, and sends each until the API server has it. @module */
import { type Answer, answerError, type Api, isOk, messageOf } from "../../kube/api.ts";
import { eventOf, isYoung, type Occurrence } from "../../kube/event.ts";
import type { EventHandler } from "../../kube/watch.ts";
import type { Log } from "../../process/log.ts";
import type { ObjectMeta } from "../../api/objects/objects.ts";
import type { Reconciler } from "../reconciler.ts";
import { createReconcileQueue } from "../reconcilequeue.ts";

/** What an object shows. */
export interface Sight {
  /** The state that the object is in; undefined: nothing to be remembered. */
  mark?: string | undefined;
  /** What has happened if that state is a new one. */
  occurrence?: Occurrence | undefined;
}

/** Reads an object. `before` is the mark that it had; undefined: it had none, or has not been seen. Pure. */
type EventRule<T> = (object: T, before: string | undefined) => Sight;

/**
 * Makes the event handler. What the first list shows is recorded only if it is young: an older Event may have been recorded by
 * another process, and be gone. What comes later has happened under our eyes.
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
  const queue = createReconcileQueue(eventReconciler(api, log, instance), { log, concurrency: CONCURRENCY }, signal);
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

function eventReconciler(api: Api, log: Log, instance: string): Reconciler<Pending> {
  const settled = new WeakSet<Pending>();
  return {
    name: "events",
    memory: new Map(),
    dueAt: (pending, now) => settled.has(pending) ? undefined : now,
    async reconcile(pending, now) {
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
