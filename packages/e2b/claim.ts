/** Reads the claim of an E2B client, and writes the parts of it that change. Pure. @module */
import * as z from "zod";
import { type Traits, traitsOf } from "../api/e2b/identity.ts";
import {
  CREATED_ANNOTATION,
  type CreatedFacts,
  createdSchema,
  E2B_LABEL,
  END_AT_ANNOTATION,
  METADATA_ANNOTATION,
  PAUSED_AT_ANNOTATION,
} from "../api/e2b/objects.ts";
import { rfc3339 } from "../api/objects/conditions.ts";
import { type SandboxClaim, sandboxClaimSchema } from "../api/sandboxclaim.ts";
import { reachIn } from "./network.ts";
import { readinessOf } from "../sdk/control/readiness.ts";

/** A sandbox of an E2B client. Times are RFC 3339. */
export interface E2BSandbox {
  id: string;
  namespace: string;
  /** UID of its claim. */
  uid: string;
  /** Version of its claim. */
  version: string;
  traits: Traits;
  facts: CreatedFacts;
  metadata: Record<string, string>;
  startedAt: string;
  /** When it ends or ended: the timeout, or the pause. */
  endAt: string;
  state: "running" | "paused";
  /** When the client paused it, or its time was over; undefined: it is not paused, or the router has suspended it. */
  pausedAt: string | undefined;
  /** It can be used. */
  isReady: boolean;
  /** The claim shows that the Sandbox is suspended. */
  isSuspended: boolean;
  /** Undefined: it has no Sandbox yet. */
  sandboxName: string | undefined;
  /** The only places that it may reach; undefined: all that its template allows. */
  reach: string[] | undefined;
}

/** The end of a sandbox whose end somebody else has removed. */
const FOR_EVER = "9999-12-31T23:59:59Z";
/** Reason of a claim's Ready condition. */
const SUSPENDED = "SandboxSuspended";

/** Reads a claim; undefined: no E2B client has created it, or it is being deleted. */
export function sandboxOf(object: object): E2BSandbox | undefined {
  // The objects of a list have no kind.
  const withKind = { apiVersion: "extensions.agents.x-k8s.io/v1beta1", kind: "SandboxClaim", ...object };
  const claim = sandboxClaimSchema.safeParse(withKind).data;
  if (!claim) return undefined;
  const { name, namespace = "", uid = "", creationTimestamp = "", labels, annotations = {} } = claim.metadata;
  const { resourceVersion = "", deletionTimestamp } = claim.metadata;
  const traits = traitsOf(name);
  const facts = parsed(createdSchema, annotations[CREATED_ANNOTATION]);
  if (labels?.[E2B_LABEL] !== "true" || !traits || !facts || deletionTimestamp !== undefined) return undefined;
  const pausedAt = annotations[PAUSED_AT_ANNOTATION];
  const readiness = readinessOf(claim);
  const isSuspended = readiness.state === "waiting" && readiness.reason === SUSPENDED;
  return {
    ...{ id: name, namespace, uid, traits, facts, pausedAt },
    version: resourceVersion,
    metadata: parsed(z.record(z.string(), z.string()), annotations[METADATA_ANNOTATION]) ?? {},
    startedAt: creationTimestamp,
    endAt: pausedAt ?? endOf(claim, facts) ?? FOR_EVER,
    state: pausedAt !== undefined || isSuspended ? "paused" : "running",
    isReady: readiness.state === "ready",
    isSuspended,
    sandboxName: claim.status?.sandbox?.name,
    reach: reachIn(annotations),
  };
}

function endOf({ metadata, spec }: SandboxClaim, { onTimeout }: CreatedFacts): string | undefined {
  return onTimeout === "pause" ? metadata.annotations?.[END_AT_ANNOTATION] : spec.lifecycle?.shutdownTime;
}

function parsed<T>(schema: z.ZodType<T>, text: string | undefined): T | undefined {
  try {
    return schema.safeParse(JSON.parse(text ?? "")).data;
  } catch {
    return undefined;
  }
}

/** Its time is over, although the claim may exist for a moment more. @param now in milliseconds since the epoch */
export function isOver({ facts, state, endAt }: E2BSandbox, now: number): boolean {
  return facts.onTimeout === "kill" && state === "running" && Date.parse(endAt) <= now;
}

/**
 * Returns a merge patch after which the sandbox runs until a time. It names the version: a client may have paused the
 * sandbox, or extended its time.
 *
 * @param end in milliseconds since the epoch
 */
export function runningUntil({ facts, version }: Pick<E2BSandbox, "facts" | "version">, end: number): object {
  const at = rfc3339(new Date(end));
  const pauses = facts.onTimeout === "pause";
  const annotations = { [PAUSED_AT_ANNOTATION]: null, ...pauses ? { [END_AT_ANNOTATION]: at } : {} };
  return {
    metadata: { resourceVersion: version, annotations },
    ...pauses ? {} : { spec: { lifecycle: { shutdownTime: at, shutdownPolicy: "Delete" } } },
  };
}

/**
 * Returns a merge patch after which the sandbox is paused and does not end. It names the version: a client may have
 * extended the time.
 *
 * @param pausedAt RFC 3339 with milliseconds: identifies the pause
 */
export function pausedSince({ facts, version }: E2BSandbox, pausedAt: string): object {
  return {
    metadata: { resourceVersion: version, annotations: { [PAUSED_AT_ANNOTATION]: pausedAt } },
    ...facts.onTimeout === "kill" ? { spec: { lifecycle: { shutdownTime: null } } } : {},
  };
}
