/** The fields of claims and their Sandboxes that Events and metrics need. Pure. @module */
import type { Sandbox } from "../api/sandbox.ts";
import type { SandboxClaim } from "../api/sandboxclaim.ts";
import { findCondition } from "../api/objects/conditions.ts";
import {
  ASSIGNED_AT_ANNOTATION,
  CLIENT_REQUESTED_ANNOTATION,
  CREATED_BY_LABEL,
  FIRST_OBSERVED_ANNOTATION,
  FIRST_READY_ANNOTATION,
  LAUNCH_TYPE_LABEL,
  SANDBOX_NAME_ANNOTATION,
  TEMPLATE_REF_ANNOTATION,
  WEBHOOK_OBSERVED_ANNOTATION,
} from "../api/objects/keys.ts";
import { controllerOf } from "../api/objects/objects.ts";
import { type TraceContext, traceContextOf } from "../api/tracecontext.ts";
import { type Regarding, regardingOf } from "../kube/event.ts";

export type LaunchType = "warm" | "cold" | "unknown";

/** A claim. Times are in milliseconds since the epoch; undefined: not known. */
export interface ClaimView {
  regarding: Regarding;
  pool: string;
  createdBy: Creator;
  /** Name of the Sandbox in the claim's status, else in its annotation. */
  sandbox: string | undefined;
  /** The claim has no Sandbox yet and still wants one. */
  isWaiting: boolean;
  isReady: boolean;
  createdAt: number | undefined;
  firstReadyAt: number | undefined;
  /** The trace in which the claim was created. */
  trace: TraceContext | undefined;
  /** When the claim was first seen, by each of these. */
  starts: { webhook: number | undefined; controller: number | undefined; client: number | undefined };
}

/** The Sandbox of a claim. Times are in milliseconds since the epoch; undefined: not known. */
export interface SandboxView {
  uid: string;
  namespace: string;
  name: string;
  claim: string;
  launchType: LaunchType;
  template: string | undefined;
  assignedAt: number | undefined;
  createdAt: number | undefined;
  /** Since when it is Ready; undefined: it is not. */
  readyAt: number | undefined;
}

/** The creator of a claim, with the values that metrics distinguish. */
type Creator = "go-client" | "python-client" | "controller" | "unknown";

const CREATORS: readonly string[] = ["go-client", "python-client", "controller"];

/** Reads the label {@link CREATED_BY_LABEL}. */
export function creatorOf(labels: Record<string, string> = {}): Creator {
  const creator = labels[CREATED_BY_LABEL] ?? "";
  return CREATORS.includes(creator) ? creator as Creator : "unknown";
}

/** Reads the label {@link LAUNCH_TYPE_LABEL}. */
export function launchTypeOf(labels: Record<string, string> = {}): LaunchType {
  const type = labels[LAUNCH_TYPE_LABEL];
  return type === "warm" || type === "cold" ? type : "unknown";
}

/** Returns the fields of a claim that Events and metrics need. */
export function viewClaim(claim: SandboxClaim): ClaimView {
  const { metadata, spec, status } = claim;
  const { labels = {}, annotations = {} } = metadata;
  const shown = status?.sandbox?.name;
  return {
    regarding: regardingOf(claim),
    pool: spec?.warmPoolRef?.name ?? "",
    createdBy: creatorOf(labels),
    sandbox: shown ?? annotations[SANDBOX_NAME_ANNOTATION],
    isWaiting: !shown && metadata.deletionTimestamp === undefined,
    isReady: findCondition(status?.conditions, "Ready")?.status === "True",
    createdAt: timeOf(metadata.creationTimestamp),
    firstReadyAt: timeOf(annotations[FIRST_READY_ANNOTATION]),
    trace: traceContextOf(metadata),
    starts: {
      webhook: timeOf(annotations[WEBHOOK_OBSERVED_ANNOTATION]),
      controller: timeOf(annotations[FIRST_OBSERVED_ANNOTATION]),
      client: timeOf(annotations[CLIENT_REQUESTED_ANNOTATION]),
    },
  };
}

/** Returns the fields of a claim's Sandbox that Events and metrics need; undefined: it has no claim. */
export function viewSandbox({ metadata, status }: Sandbox): SandboxView | undefined {
  const owner = controllerOf(metadata);
  if (owner?.kind !== "SandboxClaim") return undefined;
  const { annotations = {} } = metadata;
  const ready = findCondition(status?.conditions, "Ready");
  return {
    uid: metadata.uid ?? "",
    namespace: metadata.namespace ?? "",
    name: metadata.name,
    claim: owner.uid,
    launchType: launchTypeOf(metadata.labels),
    template: annotations[TEMPLATE_REF_ANNOTATION],
    assignedAt: timeOf(annotations[ASSIGNED_AT_ANNOTATION]),
    createdAt: timeOf(metadata.creationTimestamp),
    readyAt: ready?.status === "True" ? timeOf(ready.lastTransitionTime) : undefined,
  };
}

/** Reads a time in milliseconds since the epoch; undefined: it is absent or invalid. */
export function timeOf(text: string | undefined): number | undefined {
  const time = Date.parse(text ?? "");
  return Number.isNaN(time) ? undefined : time;
}
