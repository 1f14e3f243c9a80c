/** The reasons on which clients of the contract give up: written down here, not taken from the code that is tried. @module */

/** Source: Agent Sandbox API 1.0, checklist item 6. */
export const FINAL_REASONS: ReadonlySet<string> = new Set([
  "TemplateNotFound",
  "WarmPoolNotFound",
  "InvalidMetadata",
  "EnvVarsInjectionRejected",
  "VolumeClaimTemplatesError",
  "ClaimExpired",
  "SandboxExpired",
  "InvalidConfiguration",
  "PodFailed",
  "PodSucceeded",
]);
