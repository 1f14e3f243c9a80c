/** What runs in the demo beside the cluster itself: how it is installed, replaced and asked. @module */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { ProcessRecord } from "../cluster/processes.ts";

/** The checkout. */
export const ROOT = fileURLToPath(new URL("../../", import.meta.url));
/** A copy of the hooks, and of what they import, which the demo edits: in the checkout, so that packages are found; ignored by git. */
export const COPY = join(ROOT, ".hookbox/demo");
export const LOGS = join(ROOT, ".hookbox/demo-logs");

/** Where requests for sandboxes go. */
export interface RouterPlace {
  url: string;
  headers: Record<string, string>;
  /** Options of curl that say the same. */
  curl: string;
}

/** How hookbox runs. */
export interface Parts {
  /** Installs it, showing how, and resolves when all of it runs. */
  install(): Promise<void>;
  /** Replaces the Sandbox hook by that of the copy. */
  redeploy(): Promise<void>;
  /** What tells one run of each part from another, by the part's name: process ids, or the Pods' UIDs. */
  running(): Promise<Map<string, string>>;
  /** Whether what exists is looked at again after a hook was replaced. */
  looksAgain: boolean;
  /** Starts the router where it does not run yet, and says how to ask it. */
  router(): Promise<RouterPlace>;
  /** Ends what runs beside the cluster. */
  end(): Promise<void>;
  /** Keeps logs that would go with the cluster. */
  keepLogs(): Promise<void>;
  /** What runs beside the cluster. */
  beside(): ProcessRecord[];
}
