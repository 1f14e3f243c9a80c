/** Declares for the guard what a pool's status may contain. Autoscalers and the names of new members depend on it. @module */
import type { Sandbox } from "../../packages/api/sandbox.ts";
import type { SandboxWarmPool } from "../../packages/api/sandboxwarmpool.ts";
import { sameJson } from "../../packages/api/objects/apply.ts";
import { findCondition } from "../../packages/api/objects/conditions.ts";
import { WARM_POOL_LABEL } from "../../packages/api/objects/keys.ts";
import { nameHash } from "../../packages/api/objects/names.ts";
import type { DesiredObject } from "../../packages/api/objects/objects.ts";
import type { ReportedCondition, StatusInvariants, StatusRules } from "../../packages/webhook/statusrules.ts";
import { listAll, type Observed } from "../../packages/webhook/metacontroller.ts";
import { oncePer } from "../../packages/webhook/once.ts";
import { readApplied } from "./applied.ts";
import { areBatches, isLossTime, isSequence } from "./batchrules.ts";
import { isStaying } from "./deletionreasons.ts";
import { highestNumber, isUsed } from "./memberrules.ts";

type Of = Observed<SandboxWarmPool>;

/** A pool that is being deleted may repeat its status. */
const unlessDeleted =
  (isRight: (value: unknown, observed: Of, now: Date, desired: readonly DesiredObject[]) => boolean) =>
  (value: unknown, observed: Of, now: Date, status: object, desired: readonly DesiredObject[]) =>
    isRight(value, observed, now, desired) ||
    (observed.parent.metadata.deletionTimestamp !== undefined && sameJson(status, { ...observed.parent.status }));

export const statusRules: StatusRules<SandboxWarmPool> = {
  conditionTypes: ["NetworkPolicy", "Progressing", "Ready"],
  fields: {
    replicas: unlessDeleted((value, observed) => value === (membersOf(observed).length || undefined)),
    readyReplicas: unlessDeleted((value, observed) =>
      value === (membersOf(observed).filter(isReady).length || undefined)
    ),
    selector: unlessDeleted((value, { parent }) => value === `${WARM_POOL_LABEL}=${nameHash(parent.metadata.name)}`),
    // Names of members contain numbers. If the sequence went back, a name would be used twice. If it ran out, it would
    // begin again.
    sequence: unlessDeleted((value, observed, _, desired) => isSequence(value, observed, desired)),
    observedSequence: unlessDeleted((value, observed) =>
      value === undefined ? highestNumber(observed) === 0 : value === (observed.parent.status?.sequence ?? 0)
    ),
    batches: unlessDeleted(areBatches),
    lostAt: (value, observed, now) => isLossTime(value, observed, now, membersOf(observed).length),
  },
};

export const evidence: StatusInvariants<SandboxWarmPool> = {
  "Ready True": (saying) => isFull(saying) || isDeleted(saying),
  "Ready False": (saying) => !isFull(saying) || isDeleted(saying),
  "Ready Unknown": isDeleted,
  "Ready Absent": isDeleted,
};

function isDeleted({ observed: { parent } }: ReportedCondition<SandboxWarmPool>): boolean {
  return parent.metadata.deletionTimestamp !== undefined;
}

function isFull({ observed }: ReportedCondition<SandboxWarmPool>): boolean {
  return membersOf(observed).filter(isReady).length >= observed.parent.spec.replicas;
}

/** The members that a claim could get. */
const membersOf = oncePer(({ children }: Of): Sandbox[] =>
  listAll(children).filter((sandbox) => {
    return isStaying(sandbox) && !isUsed(sandbox) && readApplied(sandbox as Sandbox) !== "broken";
  }) as unknown as Sandbox[]
);

function isReady({ status }: Sandbox): boolean {
  return findCondition(status?.conditions, "Ready")?.status === "True";
}
