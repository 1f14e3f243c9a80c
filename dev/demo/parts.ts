/** What the demo asks of hookbox, wherever it runs: to be installed, replaced and reached. @module */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { ProcessRecord } from "../cluster/processes.ts";

/** The checkout. */
export const ROOT = fileURLToPath(new URL("../../", import.meta.url));
/** A copy of the hooks, and of what they import, which the demo edits: in the checkout, so that packages are found; ignored by git. */
export const COPY = join(ROOT, ".hookbox/demo");
/** Takes the logs of what runs. */
export const LOGS = join(ROOT, ".hookbox/demo-logs");

/** Where requests for sandboxes go. */
export interface RouterPlace {
  url: string;
  headers: Record<string, string>;
  /** Options of curl that say the same. */
  curl: string;
}

/** hookbox as it runs: in the cluster, or as local processes if nodes run no containers. */
export interface Parts {
  /** Installs it, showing how, and resolves when all of it runs. */
  install(): Promise<void>;
  /** Replaces the Sandbox hook by that of the copy, showing how. */
  redeploy(): Promise<void>;
  /** Has the replaced hook asked about the Sandbox `demo`, where nothing does so by itself. */
  touch(): Promise<void>;
  /** What tells one run of each part from another, by the part's name: process ids, or the Pods' UIDs. */
  running(): Promise<Map<string, string>>;
  /** Shows how one is let in by the router. @throws {Error} where none runs */
  router(): Promise<RouterPlace>;
  /** Keeps logs that would go with the cluster. */
  keepLogs(): Promise<void>;
  /** The parts of hookbox that run as processes of this machine. */
  localProcesses(): ProcessRecord[];
}
