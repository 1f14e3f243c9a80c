/**
 * What happens to a Sandbox, as a CloudEvent in JSON. Pure. Source: CloudEvents 1.0.2, and its extensions Partitioning and
 * Distributed Tracing. @module
 */
import { sandboxCRD } from "../../api/sandbox.ts";
import { cut } from "../../kube/event.ts";
import type { LifecycleEvent } from "./lifecycle.ts";

/** A CloudEvent as it is sent. */
export interface CloudEvent {
  specversion: "1.0";
  /** The same whenever this is told again. */
  id: string;
  source: string;
  type: string;
  subject: string;
  /** RFC 3339. */
  time: string;
  datacontenttype: "application/json";
  /** UID of the Sandbox: what bears the same is in order. */
  partitionkey: string;
  traceparent?: string;
  data: {
    namespace: string;
    name: string;
    uid: string;
    /** Absent: nobody has claimed it. */
    claim?: { name: string; uid: string };
    /** Of the condition that says so. */
    reason?: string;
    message?: string;
  };
}

/** Longer messages are cut. */
const LONGEST_MESSAGE_BYTES = 1024;

const { group, version, plural } = sandboxCRD;
/** The API's name, as names of types are written. */
const TYPE_PREFIX = `${group.split(".").reverse().join(".")}.sandbox`;

/** Makes the CloudEvent. @param source names the cluster */
export function cloudEventOf({ what, sandbox, key, at, reason, message }: LifecycleEvent, source: string): CloudEvent {
  const { namespace, name, uid, claim, traceparent } = sandbox;
  return {
    specversion: "1.0",
    // Without a full stop: what is signed has one behind it.
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
