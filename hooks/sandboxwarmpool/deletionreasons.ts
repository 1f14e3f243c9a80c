/** Why a pool loses a member: the words, and how the guard sees for itself that they are true. @module */
import type { Sandbox } from "../../packages/api/sandbox.ts";
import type { SandboxWarmPool } from "../../packages/api/sandboxwarmpool.ts";
import type { DeletionReasons } from "../../packages/webhook/guard.ts";
import { DRAINING_LABEL } from "../../packages/api/objects/keys.ts";
import { listAll, type Observed } from "../../packages/webhook/metacontroller.ts";
import { oncePer } from "../../packages/webhook/once.ts";
import type { KubeObject } from "../../packages/api/objects/objects.ts";
import { readApplied } from "./applied.ts";

/** Why a Sandbox goes; the value of its draining label. */
export type DrainReason = "returned" | "stale" | "stuck" | "surplus";

/** The words for each, and for what cannot be marked. */
export const DRAIN_WORDS: Readonly<Record<string, string>> = {
  returned: "it was a claim's and is never used again",
  stale: "it is not like the template any more",
  stuck: "it was not Ready within the grace period",
  surplus: "the pool has more than it should",
  broken: "nobody can read its last-applied annotation",
} satisfies Record<DrainReason | "broken", string>;
/** The words where somebody else has marked it, for reasons of their own. */
const MARKED = "it is marked as draining";

/** Returns why a Sandbox goes that is marked, or that nobody can read. */
export function wordsFor({ metadata }: Sandbox): string {
  const reason = metadata.labels?.[DRAINING_LABEL] ?? "broken";
  // Whoever may label a Sandbox may label it "constructor".
  return Object.hasOwn(DRAIN_WORDS, reason) ? DRAIN_WORDS[reason] ?? MARKED : MARKED;
}

const isMarked = { holds: ({ metadata }: KubeObject) => metadata.labels?.[DRAINING_LABEL] !== undefined };

/** What a pool marks is lost from then on; what was marked only goes. */
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
