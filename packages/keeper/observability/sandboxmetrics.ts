/** Counts Sandboxes by their labels for the gauge `agent_sandboxes`. @module */
import { Gauge, type Registry } from "prom-client";
import { findCondition } from "../../api/objects/conditions.ts";
import { TEMPLATE_REF_ANNOTATION } from "../../api/objects/keys.ts";
import { controllerOf } from "../../api/objects/objects.ts";
import type { Sandbox } from "../../api/sandbox.ts";
import type { EventHandler } from "../../kube/watch.ts";
import { labelValue } from "../../process/observability.ts";
import { creatorOf, launchTypeOf } from "../../summary/views.ts";

const LABELS = [
  "namespace",
  "ready_condition",
  "expired",
  "launch_type",
  "sandbox_template",
  "owned_by",
  "created_by",
  "operating_mode",
] as const;
/** The labels of a Sandbox in the gauge `agent_sandboxes`. Source: Agent Sandbox API, section 5.1; `operating_mode` as of 1.0.11. */
export type Sort = Record<(typeof LABELS)[number], string>;

/** The number of Sandboxes with the same labels. */
export interface SortCount {
  sort: Sort;
  count: number;
}

/** Counts the observed Sandboxes. */
export interface Census extends EventHandler<Sandbox> {
  counts(): Iterable<SortCount>;
}

/** Returns the labels of a Sandbox. */
export function sortOf({ metadata, spec, status }: Sandbox): Sort {
  const ready = findCondition(status?.conditions, "Ready");
  const owner = controllerOf(metadata)?.kind ?? "";
  const ownedBy = owner === "SandboxClaim" || owner === "SandboxWarmPool" ? owner : "None";
  return {
    namespace: metadata.namespace ?? "",
    ready_condition: String(ready?.status === "True"),
    expired: String(ready?.reason === "SandboxExpired"),
    // A Sandbox without such an owner comes from no pool.
    launch_type: ownedBy === "None" ? "cold" : launchTypeOf(metadata.labels),
    sandbox_template: labelValue(metadata.annotations?.[TEMPLATE_REF_ANNOTATION] ?? "unknown"),
    owned_by: ownedBy,
    created_by: creatorOf(metadata.labels),
    operating_mode: spec.operatingMode,
  };
}

/** Creates the count. It keeps the UID of each Sandbox with a reference to its labels, and only label sets that are in use. */
export function createCensus(): Census {
  const sorts = new Map<string, SortCount>();
  const members = new Map<string, SortCount>();
  function leave(uid: string): void {
    const counted = members.get(uid);
    members.delete(uid);
    if (!counted) return;
    counted.count--;
    // Delete at once: between two scrapes, one Sandbox can have any number of label sets.
    if (counted.count === 0) sorts.delete(keyOf(counted.sort));
  }
  return {
    observe(sandbox) {
      const uid = sandbox.metadata.uid ?? "";
      leave(uid);
      const sort = sortOf(sandbox);
      const key = keyOf(sort);
      const counted = sorts.get(key) ?? { sort, count: 0 };
      counted.count++;
      sorts.set(key, counted);
      members.set(uid, counted);
    },
    gone: leave,
    counts: () => sorts.values(),
  };
}

function keyOf(sort: Sort): string {
  return JSON.stringify(Object.values(sort));
}

/** Creates the gauge, which calls `counts` at each scrape. @param counts returns undefined if this process does not lead */
export function sandboxGauge(registers: Registry[], counts: () => Iterable<SortCount> | undefined): void {
  new Gauge({
    name: "agent_sandboxes",
    help: "Sandboxes that exist",
    labelNames: LABELS,
    registers,
    collect() {
      this.reset();
      for (const { sort, count } of counts() ?? []) this.set(sort, count);
    },
  });
}
