/** The reasons why a pool may lose a member, and how the guard checks that each reason is true. @module */
import type { Sandbox } from "../../packages/api/sandbox.ts";
import type { SandboxWarmPool } from "../../packages/api/sandboxwarmpool.ts";
import type { DeletionReasons } from "../../packages/webhook/guard.ts";
import { DRAINING_LABEL } from "../../packages/api/objects/keys.ts";
import { listAll, type Observed } from "../../packages/webhook/metacontroller.ts";
import { oncePer } from "../../packages/webhook/once.ts";
import type { KubeObject } from "../../packages/api/objects/objects.ts";
import { readApplied } from "./applied.ts";

/** Why a Sandbox is to be deleted: the value of its draining label. */
export type DrainReason = "returned" | "stale" | "stuck" | "surplus";

/** The text for each reason, and for Sandboxes that cannot be marked. */
export const DRAIN_WORDS: Readonly<Record<string, string>> = {
  returned: "it was a claim's and is never used again",
  stale: "it is not like the template any more",
  stuck: "it was not Ready within the grace period",
  surplus: "the pool has more than it should",
  broken: "nobody can read its last-applied annotation",
} satisfies Record<DrainReason | "broken", string>;
/** The text for a Sandbox that somebody else has marked, with another reason. */
const MARKED = "it is marked as draining";

/** Returns the reason for the deletion of a Sandbox that is marked, or whose last-applied annotation cannot be read. */
export function wordsFor({ metadata }: Sandbox): string {
  const reason = metadata.labels?.[DRAINING_LABEL] ?? "broken";
  // Everybody who may label Sandboxes may set any value, even "constructor".
  return Object.hasOwn(DRAIN_WORDS, reason) ? DRAIN_WORDS[reason] ?? MARKED : MARKED;
}

const isMarked = { holds: ({ metadata }: KubeObject) => metadata.labels?.[DRAINING_LABEL] !== undefined };

/** A member counts against the deletion budget when the pool marks it, so its later deletion does not. */
export const deletionReasons: DeletionReasons<SandboxWarmPool> = {
  ...Object.fromEntries([...Object.values(DRAIN_WORDS), MARKED].map((words) => [words, isMarked])),
  [DRAIN_WORDS["broken"] ?? ""]: { holds: (child) => readApplied(child as Sandbox) === "broken" },
  ["surplus" satisfies DrainReason]: { ...isMarked, stated: (observed) => surplus(observed) },
};

/** Returns how many Sandboxes the pool has above `spec.replicas`. Its user asked for their deletion by scaling it down. */
export const surplus = oncePer(({ parent, children }: Observed<SandboxWarmPool>): number =>
  listAll(children).filter(isStaying).length - parent.spec.replicas
);

/** Tells whether a Sandbox is neither being deleted nor marked as draining. */
export function isStaying({ metadata }: KubeObject): boolean {
  return metadata.deletionTimestamp === undefined && metadata.labels?.[DRAINING_LABEL] === undefined;
}
