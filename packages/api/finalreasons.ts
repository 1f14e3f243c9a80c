/**
 * Lists the reasons of a Ready condition that never changes by waiting, so that clients give up. This file has only
 * constants, so that importing it loads no parser. @module
 */
import type { ReadyReason } from "./sandbox.ts";

/** Reasons of a Sandbox, and of the claim to which it belongs. Source: Agent Sandbox API 1.0, checklist item 6. */
export const FINAL_REASONS = [
  "SandboxExpired",
  "InvalidConfiguration",
  "PodFailed",
  "PodSucceeded",
] as const satisfies readonly ReadyReason[];

/** Reasons of a claim. A claim that can still become Ready never has one of them. */
export const CLAIM_FINAL_REASONS = [
  "TemplateNotFound",
  "WarmPoolNotFound",
  "InvalidMetadata",
  "EnvVarsInjectionRejected",
  "VolumeClaimTemplatesError",
  "ClaimExpired",
  ...FINAL_REASONS,
] as const;
