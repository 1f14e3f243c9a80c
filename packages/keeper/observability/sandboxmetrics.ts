/** How many Sandboxes there are, and of what sort: counted from what the watch shows. @module */
import { Gauge, type Registry } from "prom-client";
import type { Sandbox } from "../../api/sandbox.ts";
import { findCondition } from "../../api/objects/conditions.ts";
import { TEMPLATE_REF_ANNOTATION } from "../../api/objects/keys.ts";
import { controllerOf } from "../../api/objects/objects.ts";
import { creatorOf, launchTypeOf } from "../../summary/views.ts";
import type { EventHandler } from "../../kube/watch.ts";
import { labelValue } from "./labelvalue.ts";

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

/** All Sandboxes of one sort. */
export interface SortCount {
  sort: Sort;
  count: number;
}

/** What counts Sandboxes. */
export interface Census extends EventHandler<Sandbox> {
  counts(): Iterable<SortCount>;
}

/** Tells which sort a Sandbox is of. */
export function sortOf({ metadata, spec, status }: Sandbox): Sort {
  const ready = findCondition(status?.conditions, "Ready");
  const owner = controllerOf(metadata)?.kind ?? "";
  const ownedBy = owner === "SandboxClaim" || owner === "SandboxWarmPool" ? owner : "None";
  return {
    namespace: metadata.namespace ?? "",
    ready_condition: String(ready?.status === "True"),
    expired: String(ready?.reason === "SandboxExpired"),
    // A bare one comes from no pool.
    launch_type: ownedBy === "None" ? "cold" : launchTypeOf(metadata.labels),
    sandbox_template: labelValue(metadata.annotations?.[TEMPLATE_REF_ANNOTATION] ?? "unknown"),
    owned_by: ownedBy,
    created_by: creatorOf(metadata.labels),
    operating_mode: spec.operatingMode,
  };
}

/** Makes a census. It keeps of each Sandbox its UID and a reference to its sort, and of sorts those that there are. */
export function createCensus(): Census {
  const sorts = new Map<string, SortCount>();
  const members = new Map<string, SortCount>();
  function leave(uid: string): void {
    const counted = members.get(uid);
    members.delete(uid);
    if (!counted) return;
    counted.count--;
    // At once: between two scrapes one Sandbox can be of any number of sorts.
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

/** Makes the gauge, which asks at each scrape. @param counts of the present leader; undefined: this process is none */
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
