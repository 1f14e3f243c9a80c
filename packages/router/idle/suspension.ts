/**
 * Tells whether a router has suspended a Sandbox, and since when. Only the current suspension counts: a user who
 * resumes a Sandbox leaves the router's annotation in place, and may suspend the Sandbox again. Pure.
 * @module
 */
import * as z from "zod";
import { findCondition, rfc3339 } from "../../api/objects/conditions.ts";
import type { SandboxRecord } from "../index/records.ts";
import { SUSPENDED_ANNOTATION } from "../../api/router/annotations.ts";

/** Why and when a router suspends a Sandbox. */
export interface Suspension {
  reason: string;
  note: string;
  now: Date;
}

const suspensionSchema = z.object({ at: z.string(), uid: z.string(), generation: z.number() });

/** Returns the annotation's text for a suspension. `generation` is the one that the spec has after the patch. */
export function suspensionText({ metadata }: SandboxRecord, { reason, note, now }: Suspension): string {
  const { uid, generation } = metadata;
  return JSON.stringify({ reason, at: rfc3339(now), note, uid, generation: generation + 1 });
}

/**
 * Returns since when a router has suspended the Sandbox as idle, in milliseconds since the epoch; undefined: no router
 * has, or it is not certain. The first row that applies decides.
 *
 * | observation | since |
 * |---|---|
 * | its mode is not Suspended | undefined |
 * | no annotation of a router names its UID, or the annotation cannot be read | undefined |
 * | its spec has another generation than after that suspension: a user has resumed or changed it | undefined |
 * | its condition Suspended is not True, or of an older generation | undefined: its Pod may still exist |
 * | (none of these) | the annotation's time, or the condition's transition time if that is later |
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
