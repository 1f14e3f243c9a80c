/** What a Sandbox wants done when nobody uses it. Pure. @module */
import type { SandboxRecord } from "../index/records.ts";
import { CPU_ANNOTATION, DELETE_ANNOTATION, IDLE_ANNOTATION, MAX_ACTIVE_ANNOTATION } from "../keys.ts";

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
