/**
 * Runs the keeper in this process, with the cluster's clock: all its reconcilers, but no Events and metrics.
 * @module
 */
import { DEFAULT_LABEL_DOMAINS } from "../api/claims/podmetadata.ts";
import { keep } from "../keeper/keep.ts";
import type { Clock } from "../process/clock.ts";
import { UNLIMITED } from "../webhook/lossbudget.ts";
import type { MemoryApi } from "./api/memoryapi.ts";

export interface RunningKeeper {
  /** Errors, one line each. */
  faults: string[];
  /** Resolves when the keeper has listed all objects. */
  listed: Promise<void>;
  stop(): Promise<void>;
}

/**
 * Starts the keeper.
 *
 * @param api a separate connection, because `stop` ends all watches on it
 */
export function startKeeper(api: MemoryApi, clock: Clock): RunningKeeper {
  const faults: string[] = [];
  const ending = new AbortController();
  const listed = Promise.withResolvers<void>();
  const kept = keep(api, {
    allowedLabelDomains: DEFAULT_LABEL_DOMAINS,
    clock,
    budget: UNLIMITED,
    log(level, message, { error } = {}) {
      if (level === "error" || level === "warn") faults.push(`keeper: ${message}${error ? `: ${error}` : ""}`);
    },
    reportFor: () => () => {},
    onListed: listed.resolve,
  }, ending.signal);
  return {
    faults,
    listed: listed.promise,
    async stop() {
      ending.abort();
      api.endWatches();
      await kept;
    },
  };
}
