/** Which Sandboxes another controller or a user has left lying, and what gives them back to pool or claim. Pure. @module */
import type { Sandbox } from "../api/sandbox.ts";
import { LAST_APPLIED_ANNOTATION } from "../lib/apply.ts";
import {
  CLAIM_CONTROLLER,
  CLAIM_UID_LABEL,
  CONTROLLER_UID_LABEL,
  DECORATOR_ANNOTATION,
  WARM_POOL_LABEL,
} from "../lib/keys.ts";
import { controllerOf, type ObjectMeta, type OwnerReference } from "../lib/objects.ts";
import { extensionOwner } from "./extensionowner.ts";
import type { MetadataChange } from "../kube/patch.ts";

/** Returns the pool that an orphan says it is of, as hash of the name; undefined: not an orphan of a pool. */
export function orphanOf({ metadata }: Sandbox): string | undefined {
  const { labels = {}, deletionTimestamp } = metadata;
  // What a claim has had is not for a pool: left alone, its user may still want what is in it.
  const isLeftAlone = deletionTimestamp !== undefined || labels[CLAIM_UID_LABEL] !== undefined;
  return isLeftAlone || controllerOf(metadata) ? undefined : labels[WARM_POOL_LABEL];
}

/**
 * Returns the label with which Metacontroller adopts an orphan for the pool; undefined: it carries it already. What it says
 * of how it was made goes: its pool looks at what it is.
 */
export function poolChange(orphan: ObjectMeta, pool: { uid: string }): MetadataChange | undefined {
  const isLabelled = orphan.labels?.[CONTROLLER_UID_LABEL] === pool.uid;
  const labels = { [CONTROLLER_UID_LABEL]: pool.uid };
  return isLabelled ? undefined : { labels, annotations: { [LAST_APPLIED_ANNOTATION]: null } };
}

/** What gives a Sandbox back to the claim that controls it, if that still exists. */
export interface ClaimReturn {
  owner: OwnerReference;
  change: MetadataChange;
}

/** Returns how Metacontroller comes to see a claim's Sandbox as its attachment; undefined: it does, or no claim has it. */
export function claimReturn({ metadata }: Sandbox): ClaimReturn | undefined {
  const owner = extensionOwner(metadata);
  const isSeen = metadata.annotations?.[DECORATOR_ANNOTATION] === CLAIM_CONTROLLER;
  if (owner?.kind !== "SandboxClaim" || isSeen || metadata.deletionTimestamp !== undefined) return undefined;
  return { owner, change: { annotations: { [DECORATOR_ANNOTATION]: CLAIM_CONTROLLER } } };
}
