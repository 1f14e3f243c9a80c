/** Assembles everything that the keeper reports about objects: Events, CloudEvents and metrics. @module */
import { sandboxClaimCRD } from "../../api/sandboxclaim.ts";
import type { Log } from "../../process/log.ts";
import type { ObjectMeta } from "../../api/objects/objects.ts";
import type { Api } from "../../kube/api.ts";
import type { ClaimView, SandboxView } from "../../summary/views.ts";
import { type Result, sendCloudEvents } from "../../cloudevents/delivery.ts";
import type { CloudEventsOptions } from "../../cloudevents/options.ts";
import { createBindings } from "./bindings.ts";
import { type EventHandler, isolated } from "../../kube/watch.ts";
import { isYoung } from "../../kube/event.ts";
import { createEventQueue, eventSource, type RecordEvent } from "./eventrecorder.ts";
import {
  childrenKept,
  claimBound,
  claimDeleted,
  claimExpired,
  multiplePods,
  policyEvent,
  poolProgress,
} from "./eventrules.ts";
import type { EventHandlers } from "../watches.ts";
import type { KeeperMetrics } from "../metrics.ts";
import { createPoolBook } from "./poolmetrics.ts";
import type { Action } from "../reconciler.ts";
import { createSandboxEvents } from "./sandboxevents.ts";
import { createPolicyBook } from "./policymetrics.ts";
import { createCensus } from "./sandboxmetrics.ts";

export interface RecordingOptions {
  api: Api;
  log: Log;
  metrics: KeeperMetrics;
  /** Name of the recording process, for people: its host. */
  instance: string;
  /** False: no Events of claims are recorded. */
  claimEvents: boolean;
  /** False: no lifecycle Events of Sandboxes are recorded. */
  sandboxEvents: boolean;
  /** Where CloudEvents of Sandboxes are sent; undefined: nowhere. */
  cloudEvents: CloudEventsOptions | undefined;
}

export interface Recording {
  handlers: EventHandlers;
  /** Records what a reconciler has done to an object of this kind. */
  reported(kind: string, action: Action, metadata: ObjectMeta, details: Record<string, unknown>): void;
}

/** Creates the event handlers for one term of leadership. The metrics show their figures until `signal` fires. */
export function createRecording(options: RecordingOptions, signal: AbortSignal): Recording {
  const { metrics, claimEvents, sandboxEvents, cloudEvents, log } = options;
  const isolate = <T>(name: string, handler: EventHandler<T>) => isolated(name, handler, log);
  const record = createEventQueue({ ...options, signal });
  const recordOfClaim: RecordEvent = claimEvents ? record : () => {};
  const census = createCensus();
  const pools = createPoolBook();
  const policies = createPolicyBook();
  const bindings = createBindings({
    onBound(claim: ClaimView, sandbox: SandboxView, isNew: boolean) {
      const occurrence = claimBound(claim, sandbox);
      if (occurrence && (isNew || isYoung(occurrence, Date.now()))) recordOfClaim(occurrence);
      if (!isNew) return;
      metrics.claims.bound(claim, sandbox);
      pools.served(claim, sandbox);
    },
    onFirstReady: metrics.claims.firstReady,
  }, signal);
  const inventory = {
    sorts: () => census.counts(),
    pools: () => pools.figures(),
    policies: () => policies.faults(),
    claims: () => bindings.views(),
  };
  metrics.inventory = inventory;
  signal.addEventListener("abort", () => {
    if (metrics.inventory === inventory) metrics.inventory = undefined;
  });
  const reporting = {
    log,
    onResult(result: Result, waiting: number) {
      metrics.cloudEvents.inc({ result });
      metrics.cloudEventsWaiting.set(waiting);
    },
  };
  signal.addEventListener("abort", () => metrics.cloudEventsWaiting.set(0));
  return {
    handlers: {
      sandboxes: [
        isolate("Sandboxes' Events", eventSource(multiplePods, record)),
        ...(sandboxEvents ? [isolate("lifecycle Events of Sandboxes", createSandboxEvents(record))] : []),
        isolate("Sandboxes that are guarded", eventSource(childrenKept, record)),
        isolate("the count of Sandboxes", census),
        isolate("claims' Sandboxes", bindings.sandboxes),
        ...(cloudEvents ? [isolate("Sandboxes' CloudEvents", sendCloudEvents(cloudEvents, reporting, signal))] : []),
      ],
      sandboxclaims: [
        isolate("claims' expiry", eventSource(claimExpired, recordOfClaim)),
        isolate("claims that are guarded", eventSource(childrenKept, recordOfClaim)),
        isolate("claims", bindings.claims),
      ],
      sandboxwarmpools: [
        isolate("pools' Events", eventSource(poolProgress, record)),
        isolate("pools that are guarded", eventSource(childrenKept, record)),
        isolate("pools' figures", pools),
      ],
      sandboxtemplates: [
        isolate("templates' Events", eventSource(policyEvent, record)),
        isolate("templates without their policy", policies),
      ],
      networkpolicies: [],
    },
    reported(kind, action, metadata, { propagation }) {
      if (kind !== sandboxClaimCRD.kind || action !== "deleted") return;
      recordOfClaim(claimDeleted(metadata, propagation === "Foreground" ? "DeleteForeground" : "Delete", Date.now()));
    },
  };
}
