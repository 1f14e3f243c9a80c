/** Creates Kubernetes Events. @module */
import { createHash } from "node:crypto";
import type { KubeObject } from "../api/objects/objects.ts";

/** The object that an Event is about. */
export interface Regarding {
  apiVersion: string;
  kind: string;
  namespace: string;
  name: string;
  uid: string;
}

/** Returns the reference to an object for its Events. */
export function regardingOf(
  { apiVersion, kind, metadata }: Pick<KubeObject, "apiVersion" | "kind" | "metadata">,
): Regarding {
  const { namespace = "", name, uid = "" } = metadata;
  return { apiVersion, kind, namespace, name, uid };
}

/** Something that has happened to an object once. */
export interface Occurrence {
  regarding: Regarding;
  type: "Normal" | "Warning";
  reason: string;
  action: string;
  note: string;
  reportingController: string;
  /**
   * Distinguishes this occurrence from others of the same object and reason. Every process derives the same key at any
   * time.
   */
  key: string;
  /** When it happened, in milliseconds since the epoch. If the exact time is not known, this is rather too early. */
  at: number;
}

/** An Event of events.k8s.io/v1 to be created. */
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

/**
 * Events exist for twice this time. So if an occurrence is younger than this, a second attempt to create its Event finds
 * the first one.
 */
const YOUTH_MS = 30 * 60_000;

/** Returns whether the Event of an occurrence, if it was created, still exists. Events exist for an hour. */
export function isYoung({ at }: Occurrence, now: number): boolean {
  return now - at < YOUTH_MS;
}

/**
 * Creates the Event. Its name identifies the occurrence, so that a second attempt gets AlreadyExists.
 *
 * @param instance name of the recording process
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

/** Cuts a text to a number of UTF-8 bytes, between characters. */
export function cut(text: string, bytes: number): string {
  const encoded = new TextEncoder().encode(text);
  // With `stream`, a character that is cut in two is left out.
  return encoded.length <= bytes ? text : new TextDecoder().decode(encoded.subarray(0, bytes), { stream: true });
}
