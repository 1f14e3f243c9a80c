/** What an installation decides for all its pools. @module */

/** The settings of the SandboxWarmPool hook. Rates and delays are counted by one process: run one replica. */
export interface WarmPoolConfig {
  /** Domains of label keys that claims may add to Pods. */
  labelDomains: readonly string[];
  /** Seconds from its creation that a member may take to be Ready before it is replaced. */
  readinessGraceSeconds: number;
  /** Most members that one answer makes or gives up. */
  maxBatchSize: number;
  /** Most members made per second; 0: no limit. */
  maxRefillRate: number;
  /** Seconds without new members after the pool has lost one. */
  replenishDelaySeconds: number;
}
