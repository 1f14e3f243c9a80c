/** The binder in this process, with the cluster's clock. @module */
import { createBinding, watchFor } from "../binder/bind.ts";
import { DEFAULT_LABEL_DOMAINS } from "../api/claims/podmetadata.ts";
import type { Clock } from "../process/clock.ts";
import type { Log } from "../process/log.ts";
import type { TemplatePolicy } from "../api/templatepolicy.ts";
import type { MemoryApi } from "./api/memoryapi.ts";

export interface RunningBinder {
  /** What went wrong, in one line each. */
  faults: string[];
  /** Resolves when it has seen everything, and serves claims where it leads. */
  listed: Promise<void>;
  stop(): Promise<void>;
}

/**
 * Starts it.
 *
 * @param api its own: stopping ends the watches on it
 * @param leads from when on it serves claims; until then it only watches
 * @param templatePolicy whether templates need their NetworkPolicies: where no hook makes them they do not
 */
export function startBinder(
  api: MemoryApi,
  clock: Clock,
  leads: Promise<void> = Promise.resolve(),
  templatePolicy: TemplatePolicy = "optional",
): RunningBinder {
  const faults: string[] = [];
  const ending = new AbortController();
  const listed = Promise.withResolvers<void>();
  const log: Log = (level, message, { error } = {}) => {
    if (level === "error" || level === "warn") faults.push(`binder: ${message}${error ? `: ${error}` : ""}`);
  };
  const binding = createBinding(api, { labelDomains: DEFAULT_LABEL_DOMAINS, templatePolicy, clock, log });
  const onListed = () => {
    binding.listed();
    listed.resolve();
  };
  const watching = watchFor({ ...binding, listed: onListed }, api, log, ending.signal);
  const serving = leads.then(() => binding.serve(ending.signal));
  return {
    faults,
    listed: listed.promise,
    async stop() {
      ending.abort();
      api.endWatches();
      await Promise.all([serving, watching]);
    },
  };
}
