/** Reasons of Ready that no waiting changes: clients give up on them. Words alone, which load no parser. @module */
import type { ReadyReason } from "./sandbox.ts";

/** Of a Sandbox, and of the claim that it belongs to. Source: Agent Sandbox API 1.0, checklist item 6. */
export const FINAL_REASONS = [
  "SandboxExpired",
  "InvalidConfiguration",
  "PodFailed",
  "PodSucceeded",
] as const satisfies readonly ReadyReason[];

/** Of a claim: never on one that can still succeed. */
export const CLAIM_FINAL_REASONS = [
  "TemplateNotFound",
  "WarmPoolNotFound",
  "InvalidMetadata",
  "EnvVarsInjectionRejected",
  "VolumeClaimTemplatesError",
  "ClaimExpired",
  ...FINAL_REASONS,
] as const;
