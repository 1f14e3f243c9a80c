/** The options of the SandboxWarmPool hook, and the settings that they become. @module */
import type { SandboxWarmPool } from "../../packages/api/sandboxwarmpool.ts";
import { TEMPLATE_POLICY, type TemplatePolicy } from "../../packages/api/templatepolicy.ts";
import { numberOption, type Options } from "../../packages/webhook/options.ts";

/** The settings of the SandboxWarmPool hook. */
export interface WarmPoolConfig {
  /** How many seconds after its creation a member may become Ready before the pool replaces it. A pool can override this. */
  readinessGraceSeconds: number;
  /** Most members that one answer makes or gives up. */
  maxBatchSize: number;
  /** Most members made per second; 0: no limit. */
  maxRefillRate: number;
  /** Seconds without new members after the pool has lost one. */
  replenishDelaySeconds: number;
  /** Shortest time between two answers for one pool, in milliseconds. */
  poolIntervalMs: number;
  /** Whether members are created without their template's NetworkPolicy. */
  templateNetworkPolicy: TemplatePolicy;
}

/** Returns the settings for one pool: its spec overrides the command line. */
export function settingsFor({ spec }: SandboxWarmPool, config: WarmPoolConfig): WarmPoolConfig {
  const { readinessGracePeriodSeconds: readinessGraceSeconds } = spec;
  return readinessGraceSeconds === undefined ? config : { ...config, readinessGraceSeconds };
}

/** Its command line. */
export const OPTIONS: Options<WarmPoolConfig> = {
  readinessGraceSeconds: numberOption({
    ...{ flag: "readiness-grace-seconds", placeholder: "S", default: "300" },
    help: "how long a new sandbox may take to become Ready before it is replaced, if its pool does not set this",
  }),
  maxBatchSize: numberOption({
    ...{ flag: "max-batch-size", placeholder: "N", default: "300", least: 1, isWhole: true },
    help: "most sandboxes made or given up at once",
  }),
  maxRefillRate: numberOption({
    ...{ flag: "max-refill-rate", placeholder: "R", default: "0" },
    help: "most sandboxes made per second for one pool; 0: no limit",
  }),
  replenishDelaySeconds: numberOption({
    ...{ flag: "replenish-delay-seconds", placeholder: "S", default: "0" },
    help: "how long a pool waits to make new ones after it has lost some",
  }),
  poolIntervalMs: numberOption({
    ...{ flag: "pool-interval-ms", placeholder: "N", default: "1000" },
    help: "shortest time between two answers for one pool: what happens to its members meanwhile is answered " +
      "together; 0: none. Claims do not wait for it",
  }),
  templateNetworkPolicy: {
    ...{ flag: TEMPLATE_POLICY.flag, placeholder: "W", default: "required" },
    help:
      "required: no sandbox is created while its template's NetworkPolicy is missing; optional: sandboxes are created " +
      "without it. Keeper and binder need the same value",
    read: TEMPLATE_POLICY.read,
  },
};
