/** What an installation decides for all its pools. @module */

/** The settings of the SandboxWarmPool hook. */
export interface WarmPoolConfig {
  /** Seconds from its creation that a member may take to be Ready before it is replaced. */
  readinessGraceSeconds: number;
  /** Most members that one answer makes or gives up. */
  maxBatchSize: number;
  /** Most members made per second; 0: no limit. */
  maxRefillRate: number;
  /** Seconds without new members after the pool has lost one. */
  replenishDelaySeconds: number;
  /** Shortest time between two answers for one pool, in milliseconds. */
  poolIntervalMs: number;
}
