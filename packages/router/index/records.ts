/**
 * Reads Sandboxes and Pods, and keeps only the fields that the router needs, as there may be thousands. Pure.
 * @module
 */
import { Buffer } from "node:buffer";
import * as z from "zod";
import { calledOff, type Lifetime, lifetimeOf } from "../../api/expiry.ts";
import { type Condition, findCondition } from "../../api/objects/conditions.ts";
import { ASSIGNED_AT_ANNOTATION, WARM_POOL_LABEL } from "../../api/objects/keys.ts";
import { controllerOf, groupOf } from "../../api/objects/objects.ts";
import { conditionSchema, objectMetaSchema } from "../../api/objects/schemas.ts";
import { podSchema } from "../../api/objects/pods.ts";
import { sandboxCRD } from "../../api/sandbox.ts";
import { sandboxClaimCRD } from "../../api/sandboxclaim.ts";
import {
  ACTIVE_ANNOTATION,
  CPU_ANNOTATION,
  DELETE_ANNOTATION,
  EXPIRED_ANNOTATION,
  FIRST_ACTIVE_ANNOTATION,
  IDLE_ANNOTATION,
  JOBS_ANNOTATION,
  MAX_ACTIVE_ANNOTATION,
  NETWORK_ANNOTATION,
  OTHER_NAMES,
  SUSPENDED_ANNOTATION,
  WAKE_ANNOTATION,
  WOKEN_AT_ANNOTATION,
} from "../../api/router/protocol.ts";
import { canonicalIP, isPodAddress } from "./addresses.ts";

type RecordMeta = {
  uid: string;
  namespace: string;
  name: string;
  resourceVersion: string;
  generation: number;
};

/** The fields of a Sandbox that the router needs. */
export interface SandboxRecord {
  metadata: RecordMeta;
  /** The Sandbox is a pool member without a claim. */
  isUnclaimed: boolean;
  /** The claim that has it; undefined: none has. */
  claim: { name: string; uid: string } | undefined;
  isDeleting: boolean;
  isSuspended: boolean;
  /** When it expires, in milliseconds since the epoch; undefined: never, or the time cannot be read. */
  expiresAt: number | undefined;
  /** Shutdown time and policy in its spec. */
  lifetime: Lifetime;
  /** Shutdown time and policy from before a router let it expire; undefined: no expiry was called off. */
  calledOff: Lifetime | undefined;
  /** In milliseconds since the epoch; undefined: the time cannot be read. */
  createdAt: number | undefined;
  /**
   * When it was assigned to a claim, in milliseconds since the epoch; undefined: it has no claim, or the time cannot be
   * read.
   */
  assignedAt: number | undefined;
  /** The conditions that explain why it cannot be reached. */
  conditions: Condition[];
  /** All observations about its use in one text. If the text changes, there is a new observation. */
  observedUse: string;
  /** The part of `evidence` that code inside cannot cause: traffic, and being woken, resumed or assigned to a claim. */
  observedRequests: string;
  /** Annotations for the router, from the Sandbox, else from its Pod template. */
  annotations: Record<string, string>;
}

/** The fields of a Sandbox's Pod that the router needs. */
export interface PodRecord {
  metadata: RecordMeta;
  /** UID of the Sandbox that controls it; undefined: no Sandbox does, so it is never reached. */
  sandboxUID: string | undefined;
  isUnclaimed: boolean;
  isDeleting: boolean;
  isReady: boolean;
  isScheduled: boolean;
  usesHostNetwork: boolean;
  /** In milliseconds since the epoch; undefined: the time cannot be read. */
  createdAt: number | undefined;
  phase: string;
  /** In canonical form. */
  ips: string[];
  /** The first of `ips` that a Pod can have; undefined if there is none. */
  address: string | undefined;
}

/** Annotations that users set on a Sandbox or its Pod template. The Sandbox's own come first. */
const USER_ANNOTATIONS = [
  CPU_ANNOTATION,
  JOBS_ANNOTATION,
  NETWORK_ANNOTATION,
  DELETE_ANNOTATION,
  IDLE_ANNOTATION,
  MAX_ACTIVE_ANNOTATION,
  WAKE_ANNOTATION,
];
/**
 * Annotations that routers set on a Sandbox. In a Pod template they are ignored, as it may be copied from a Sandbox.
 */
const ROUTER_ANNOTATIONS = [ACTIVE_ANNOTATION, FIRST_ACTIVE_ANNOTATION, SUSPENDED_ANNOTATION, WOKEN_AT_ANNOTATION];
/**
 * Longest text that is stored. A user's text in a Pod template may have a megabyte, and every router would store it.
 */
const MOST_CHARACTERS = 1024;
const CONDITIONS = ["Ready", "Finished", "ContainersFailing", "PodScheduled", "Suspended"];

const annotationsSchema = z.record(z.string(), z.string()).optional();
const sandboxSchema = z.object({
  metadata: objectMetaSchema,
  spec: z.object({
    operatingMode: z.string().optional(),
    shutdownTime: z.string().optional(),
    shutdownPolicy: z.string().optional(),
    podTemplate: z.object({ metadata: z.object({ annotations: annotationsSchema }).optional() }).optional(),
  }),
  status: z.object({ conditions: z.array(conditionSchema).optional() }).optional(),
});

/** Reads a Sandbox as the API server sends it; undefined if the object is not a Sandbox. */
export function readSandbox(object: unknown): SandboxRecord | undefined {
  const { data } = sandboxSchema.safeParse(object);
  if (!data) return undefined;
  const { metadata, spec, status } = data;
  const template = spec.podTemplate?.metadata?.annotations;
  const own = (key: string) => metadata.annotations?.[key];
  const asked = (key: string) => own(key) ?? template?.[key];
  const annotations = Object.fromEntries([
    ...presentOf(USER_ANNOTATIONS, (key) => asked(key) ?? asked(OTHER_NAMES[key] ?? key)),
    ...presentOf(ROUTER_ANNOTATIONS, own),
  ]);
  const { operatingMode, shutdownTime, shutdownPolicy } = spec;
  const lifetime = { shutdownTime: shortText(shutdownTime), shutdownPolicy: shortText(shutdownPolicy) };
  const expiry = { [EXPIRED_ANNOTATION]: shortText(own(EXPIRED_ANNOTATION)) ?? "" };
  const ending = { metadata: { ...recordMetaOf(metadata), annotations: expiry }, spec: { ...lifetime, operatingMode } };
  const conditions = CONDITIONS.flatMap((type) => findCondition(status?.conditions, type) ?? []).map(truncated);
  const ready = findCondition(conditions, "Ready");
  const assigned = shortText(metadata.annotations?.[ASSIGNED_AT_ANNOTATION]);
  const { [ACTIVE_ANNOTATION]: active, [WOKEN_AT_ANNOTATION]: woken } = annotations;
  const owner = controllerOf(metadata);
  const isClaimed = owner?.kind === sandboxClaimCRD.kind && groupOf(owner.apiVersion) === sandboxClaimCRD.group;
  return {
    metadata: recordMetaOf(metadata),
    isUnclaimed: metadata.labels?.[WARM_POOL_LABEL] !== undefined,
    claim: isClaimed ? { name: owner.name, uid: owner.uid } : undefined,
    isDeleting: metadata.deletionTimestamp !== undefined,
    isSuspended: operatingMode === "Suspended",
    expiresAt: instantOf(lifetimeOf(ending).shutdownTime),
    lifetime,
    calledOff: calledOff(ending),
    createdAt: instantOf(metadata.creationTimestamp),
    assignedAt: instantOf(assigned),
    conditions,
    observedUse: JSON.stringify([active, woken, assigned, ready?.status, ready?.lastTransitionTime]),
    observedRequests: JSON.stringify([active, woken, assigned, operatingMode]),
    annotations,
  };
}

function presentOf(keys: readonly string[], valueOf: (key: string) => string | undefined): [string, string][] {
  return keys.flatMap((key) => {
    const value = shortText(valueOf(key));
    return value === undefined ? [] : [[key, value]];
  });
}

/** A text that is too long to come from hookbox counts as absent. */
function shortText(text: string | undefined): string | undefined {
  return text !== undefined && text.length <= MOST_CHARACTERS ? text : undefined;
}

function truncated(condition: Condition): Condition {
  const { message } = condition;
  if (message.length <= MOST_CHARACTERS) return condition;
  // A slice alone would keep the whole text in memory.
  return { ...condition, message: Buffer.from(message.slice(0, MOST_CHARACTERS)).toString() };
}

/** Items in lists of built-in kinds have no `apiVersion` and `kind`: only the list has them. */
const listedPodSchema = podSchema.partial({ apiVersion: true, kind: true });

/** Reads a Pod as the API server sends it; undefined if the object is not a Pod. */
export function readPod(object: unknown, allowLoopbackPodIp: boolean): PodRecord | undefined {
  const { data } = listedPodSchema.safeParse(object);
  if (!data) return undefined;
  const { metadata, spec, status } = data;
  const owner = controllerOf(metadata);
  const isOurs = owner?.kind === sandboxCRD.kind && groupOf(owner.apiVersion) === sandboxCRD.group;
  const ips = (status?.podIPs ?? []).flatMap(({ ip }) => canonicalIP(ip) ?? []);
  const holds = (type: string) => status?.conditions?.some((c) => c.type === type && c.status === "True") === true;
  return {
    metadata: recordMetaOf(metadata),
    sandboxUID: isOurs ? owner.uid : undefined,
    isUnclaimed: metadata.labels?.[WARM_POOL_LABEL] !== undefined,
    isDeleting: metadata.deletionTimestamp !== undefined,
    isReady: holds("Ready"),
    isScheduled: holds("PodScheduled"),
    usesHostNetwork: spec?.["hostNetwork"] === true,
    createdAt: instantOf(metadata.creationTimestamp),
    phase: status?.phase ?? "",
    ips,
    address: ips.find((ip) => isPodAddress(ip, allowLoopbackPodIp)),
  };
}

function instantOf(text: string | undefined): number | undefined {
  const instant = Date.parse(text ?? "");
  return Number.isNaN(instant) ? undefined : instant;
}

function recordMetaOf(metadata: z.infer<typeof objectMetaSchema>): RecordMeta {
  const { uid = "", namespace = "", name, resourceVersion = "", generation = 0 } = metadata;
  return { uid, namespace, name, resourceVersion, generation };
}
