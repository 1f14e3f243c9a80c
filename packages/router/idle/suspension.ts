/**
 * Whether a router has suspended a Sandbox, and since when: by facts of the present suspension alone. Who resumes a Sandbox
 * without a router leaves the router's annotation where it is, and may suspend it again. Pure.
 * @module
 */
import * as z from "zod";
import { findCondition, rfc3339 } from "../../api/objects/conditions.ts";
import type { SandboxRecord } from "../index/records.ts";
import { SUSPENDED_ANNOTATION } from "../../api/router/annotations.ts";

/** What has been decided of a Sandbox, and when. */
export interface Suspension {
  reason: string;
  note: string;
  now: Date;
}

const suspensionSchema = z.object({ at: z.string(), uid: z.string(), generation: z.number() });

/** Writes why and when a router suspends the Sandbox as it is, which makes its spec the next generation. */
export function suspensionText({ metadata }: SandboxRecord, { reason, note, now }: Suspension): string {
  const { uid, generation } = metadata;
  return JSON.stringify({ reason, at: rfc3339(now), note, uid, generation: generation + 1 });
}

/**
 * Returns since when the Sandbox is suspended for being idle, in milliseconds since the epoch; undefined: it is not, or not
 * surely so.
 *
 * | what holds, the first that does | since |
 * |---|---|
 * | it is to run | not |
 * | no router says that it has suspended this UID, or what it says cannot be read | not |
 * | the spec has another generation than that suspension gave it: somebody has resumed or changed it | not |
 * | its condition Suspended is not True, or not of this generation | not yet: its Pod may still be there |
 * | (none of these) | the later of when the router says that it was, and when the condition became True |
 */
export function idleSince(sandbox: SandboxRecord): number | undefined {
  const { metadata: { uid, generation }, annotations, conditions, isSuspended } = sandbox;
  const said = suspensionSchema.safeParse(parsed(annotations[SUSPENDED_ANNOTATION])).data;
  if (!isSuspended || !said || said.uid !== uid || said.generation !== generation) return undefined;
  const condition = findCondition(conditions, "Suspended");
  if (condition?.status !== "True" || condition.observedGeneration !== generation) return undefined;
  const since = Math.max(Date.parse(said.at), Date.parse(condition.lastTransitionTime));
  return Number.isNaN(since) ? undefined : since;
}

function parsed(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? "null");
  } catch {
    return undefined;
  }
}
