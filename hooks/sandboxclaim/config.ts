/** What an installation decides for all its claims. @module */

/** The settings of the SandboxClaim hook. */
export interface ClaimConfig {
  /** Domains of label keys that claims may add to Pods. */
  labelDomains: readonly string[];
}
