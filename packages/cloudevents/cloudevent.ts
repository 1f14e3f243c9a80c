/**
 * Converts a lifecycle event of a Sandbox to a CloudEvent in JSON. Sources: CloudEvents 1.0.2, and its extensions
 * Partitioning and Distributed Tracing.
 * @module
 */
import { sandboxCRD } from "../api/sandbox.ts";
import { cut } from "../kube/event.ts";
import type { LifecycleEvent } from "./lifecycle.ts";

/** A CloudEvent in the form in which it is sent. */
export interface CloudEvent {
  specversion: "1.0";
  /** The same in each delivery of the same event. */
  id: string;
  source: string;
  type: string;
  subject: string;
  /** RFC 3339. */
  time: string;
  datacontenttype: "application/json";
  /** UID of the Sandbox. Events with the same key are delivered in order. */
  partitionkey: string;
  traceparent?: string;
  data: {
    namespace: string;
    name: string;
    uid: string;
    /** Absent: the Sandbox has no claim. */
    claim?: { name: string; uid: string };
    /** Reason of the condition that shows the event. */
    reason?: string;
    message?: string;
  };
}

/** Longer messages are cut off. */
const LONGEST_MESSAGE_BYTES = 1024;

const { group, version, plural } = sandboxCRD;
/** The name of the API in the notation of event types. */
const TYPE_PREFIX = `${group.split(".").reverse().join(".")}.sandbox`;

/** Creates the CloudEvent. @param source names the cluster */
export function cloudEventOf({ what, sandbox, key, at, reason, message }: LifecycleEvent, source: string): CloudEvent {
  const { namespace, name, uid, claim, traceparent } = sandbox;
  return {
    specversion: "1.0",
    // Not joined with a full stop: in the text that is signed, a full stop separates the id from the timestamp.
    id: [uid, what, key].filter(Boolean).join("_"),
    source,
    type: `${TYPE_PREFIX}.${what}`,
    subject: `/apis/${group}/${version}/namespaces/${namespace}/${plural}/${name}`,
    time: new Date(at).toISOString(),
    datacontenttype: "application/json",
    partitionkey: uid,
    ...(traceparent === undefined ? {} : { traceparent }),
    data: {
      ...{ namespace, name, uid },
      ...(claim ? { claim } : {}),
      ...(reason ? { reason } : {}),
      ...(message ? { message: cut(message, LONGEST_MESSAGE_BYTES) } : {}),
    },
  };
}
