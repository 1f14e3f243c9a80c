/** What is told of an object by a Kubernetes Event, and the Event that tells it. Pure. @module */
import { createHash } from "node:crypto";
import type { KubeObject } from "../api/objects/objects.ts";

/** What an Event is about. */
export interface Regarding {
  apiVersion: string;
  kind: string;
  namespace: string;
  name: string;
  uid: string;
}

/** Names an object for its Events. */
export function regardingOf(
  { apiVersion, kind, metadata }: Pick<KubeObject, "apiVersion" | "kind" | "metadata">,
): Regarding {
  const { namespace = "", name, uid = "" } = metadata;
  return { apiVersion, kind, namespace, name, uid };
}

/** Something that has happened to an object, once. */
export interface Occurrence {
  regarding: Regarding;
  type: "Normal" | "Warning";
  reason: string;
  action: string;
  note: string;
  reportingController: string;
  /** Tells this occurrence from others of the same object and reason; the same for whoever sees it, whenever. */
  key: string;
  /** When it happened, in milliseconds since the epoch; where that is not known for sure, rather too early. */
  at: number;
}

/** An Event of events.k8s.io/v1 that is yet to be created. */
export interface NewEvent {
  apiVersion: "events.k8s.io/v1";
  kind: "Event";
  metadata: { name: string; namespace: string };
  eventTime: string;
  reportingController: string;
  reportingInstance: string;
  action: string;
  reason: string;
  type: Occurrence["type"];
  note: string;
  regarding: Regarding;
}

/** Limits of the API server. Source: k8s.io/kubernetes pkg/apis/core/validation/events.go, 1.36. */
const LONGEST_NAME = 253;
const LONGEST_NOTE_BYTES = 1024;
const LONGEST_INSTANCE = 128;

/** Events outlive this by as much again, so that a second try at one that is younger meets the first. */
const YOUTH_MS = 30 * 60_000;

/** Tells whether the Event of an occurrence, if somebody has recorded it, still exists: it lives for an hour. */
export function isYoung({ at }: Occurrence, now: number): boolean {
  return now - at < YOUTH_MS;
}

/**
 * Makes the Event. Its name says which occurrence it tells of, so that a second one meets AlreadyExists.
 *
 * @param instance which process records it
 */
export function eventOf(occurrence: Occurrence, instance: string, now: Date): NewEvent {
  const { regarding, type, reason, action, note, reportingController } = occurrence;
  return {
    apiVersion: "events.k8s.io/v1",
    kind: "Event",
    metadata: { name: nameOf(occurrence), namespace: regarding.namespace },
    eventTime: now.toISOString().replace("Z", "000Z"),
    reportingController,
    reportingInstance: instance.slice(0, LONGEST_INSTANCE),
    action,
    reason,
    type,
    note: cut(note, LONGEST_NOTE_BYTES),
    regarding,
  };
}

function nameOf({ regarding: { name, uid }, reason, key }: Occurrence): string {
  const hash = createHash("sha256").update(JSON.stringify([uid, reason, key])).digest("hex").slice(0, 16);
  const head = name.slice(0, LONGEST_NAME - hash.length - 1).replace(/[-.]+$/, "");
  return `${head}.${hash}`;
}

/** Cuts a text to as many bytes of UTF-8, between characters. */
export function cut(text: string, bytes: number): string {
  const encoded = new TextEncoder().encode(text);
  // As a stream, so that a character that is cut in two is left out.
  return encoded.length <= bytes ? text : new TextDecoder().decode(encoded.subarray(0, bytes), { stream: true });
}
