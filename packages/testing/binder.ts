/** Runs the binder in this process, with the cluster's clock. @module */
import { createBinding } from "../binder/binder.ts";
import { watchFor } from "../binder/watches.ts";
import { DEFAULT_LABEL_DOMAINS } from "../api/claims/podmetadata.ts";
import type { Clock } from "../process/clock.ts";
import type { Log } from "../process/log.ts";
import type { TemplatePolicy } from "../api/templatepolicy.ts";
import type { MemoryApi } from "./api/memoryapi.ts";

export interface RunningBinder {
  /** Errors, one line each. */
  faults: string[];
  /** Resolves when the binder has listed all objects; if it leads, it then serves claims. */
  listed: Promise<void>;
  stop(): Promise<void>;
}

/**
 * Starts the binder.
 *
 * @param api a separate connection, because `stop` ends all watches on it
 * @param leads resolves when the binder begins to serve claims; until then it only watches
 * @param templateNetworkPolicy whether a sandbox needs its template's NetworkPolicy to start; `optional` if no hook
 * creates them
 */
export function startBinder(
  api: MemoryApi,
  clock: Clock,
  leads: Promise<void> = Promise.resolve(),
  templateNetworkPolicy: TemplatePolicy = "optional",
): RunningBinder {
  const faults: string[] = [];
  const ending = new AbortController();
  const listed = Promise.withResolvers<void>();
  const log: Log = (level, message, { error } = {}) => {
    if (level === "error" || level === "warn") faults.push(`binder: ${message}${error ? `: ${error}` : ""}`);
  };
  const binding = createBinding(api, { allowedLabelDomains: DEFAULT_LABEL_DOMAINS, templateNetworkPolicy, clock, log });
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
