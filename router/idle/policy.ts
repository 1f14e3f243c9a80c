/** What a Sandbox wants done when nobody uses it. Pure. @module */
import type { SandboxRecord } from "../index/records.ts";
import { ANNOTATION_PREFIX } from "../index/records.ts";

/** Annotation, set by users on a Sandbox or its Pod template: suspend it after so many idle seconds. Without it: never. */
export const IDLE_ANNOTATION = `${ANNOTATION_PREFIX}idle-seconds`;
/** Annotation, as above: how many seconds without traffic work of its own keeps it up; without it any number. */
export const MAX_ACTIVE_ANNOTATION = `${ANNOTATION_PREFIX}max-active-seconds`;
/** Annotation, as above: cores that count as idle all the same. */
export const CPU_ANNOTATION = `${ANNOTATION_PREFIX}idle-cpu`;
/** Annotation, as above: let it expire so many seconds after it was suspended for being idle. */
export const DELETE_ANNOTATION = `${ANNOTATION_PREFIX}idle-delete-seconds`;
/** Annotation of routers: when one last saw traffic, RFC 3339, a blank, and which one. */
export const ACTIVE_ANNOTATION = `${ANNOTATION_PREFIX}active-at`;

/** When to suspend. */
export interface IdlePolicy {
  idleSeconds: number;
  maxActiveSeconds: number;
  /** In cores. */
  cpuFloor: number;
  /** Undefined: it stays for ever. */
  deleteSeconds: number | undefined;
}

const CPU_FLOOR = 0.05;

/** Returns the policy; undefined: it is never idle. What cannot be read counts as absent: rather up than down. */
export function policyOf({ annotations }: SandboxRecord): IdlePolicy | undefined {
  const idleSeconds = numberOf(annotations[IDLE_ANNOTATION]);
  if (idleSeconds === undefined || idleSeconds < 1) return undefined;
  return {
    idleSeconds,
    maxActiveSeconds: numberOf(annotations[MAX_ACTIVE_ANNOTATION]) ?? Infinity,
    cpuFloor: numberOf(annotations[CPU_ANNOTATION]) ?? CPU_FLOOR,
    deleteSeconds: numberOf(annotations[DELETE_ANNOTATION]),
  };
}

function numberOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\d+(\.\d+)?$/.test(text) ? Number(text) : undefined;
}
