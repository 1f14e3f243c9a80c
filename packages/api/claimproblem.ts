/** Defines why a claim gets no Sandbox, or why its Sandbox cannot be updated. @module */

/** A reason and a message for the claim's Ready condition. */
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
  /** The message of the condition, for people. */
  message: string;
}
