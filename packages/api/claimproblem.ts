/** Why a claim is not served, or why its Sandbox does not follow it. @module */

/** The problem. */
export interface ClaimProblem {
  /** Reason of the claim's Ready condition. Source: Agent Sandbox API, section 3.5.7. */
  reason:
    | "WarmPoolNotFound"
    | "TemplateNotFound"
    | "InvalidMetadata"
    | "EnvVarsInjectionRejected"
    | "VolumeClaimTemplatesError"
    | "InvalidConfiguration"
    | "ReconcilerError";
  /** For people: the message of the condition. */
  message: string;
}
