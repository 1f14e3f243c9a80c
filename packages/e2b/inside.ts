/** Reads what a sandbox reports about itself: its metrics from its runtime, its log from the API server. @module */
import * as z from "zod";
import { tokenOf } from "../api/e2b/identity.ts";
import { podNameOf } from "../api/objects/names.ts";
import { ENVD_PORT } from "../api/router/protocol.ts";
import { type Api, isOk, pathOf } from "../kube/api.ts";
import { textUpTo } from "../sdk/runtime/bounded.ts";
import type { E2BSandbox } from "./claim.ts";
import { ownSandbox } from "./ownsandbox.ts";

/** One measurement, as E2B's SDKs read it: bytes, and per cent of all CPUs. */
interface Metric {
  timestamp: string;
  timestampUnix: number;
  cpuCount: number;
  cpuUsedPct: number;
  memUsed: number;
  memTotal: number;
  memCache: number;
  diskUsed: number;
  diskTotal: number;
}

/** A line of a log. */
interface LogLine {
  /** RFC 3339. */
  timestamp: string;
  text: string;
}

/** Reads from sandboxes. */
export interface Inside {
  /** Returns what is measured now; `[]` if the sandbox is paused or does not answer. */
  metrics(sandbox: E2BSandbox): Promise<Metric[]>;
  /** Returns the log of the first container, oldest line first. @param since in milliseconds since the epoch */
  log(sandbox: E2BSandbox, since: number, limit: number): Promise<LogLine[]>;
}

/** What the runtime answers. Source: `GET /metrics` of E2B's envd. */
const metricsSchema = z.object({
  // Up to the year 9999.
  ts: z.number().min(0).max(253_402_300_799),
  cpu_count: z.number(),
  cpu_used_pct: z.number(),
  mem_used: z.number(),
  mem_total: z.number(),
  mem_cache: z.number().default(0),
  disk_used: z.number(),
  disk_total: z.number(),
});

/** Largest answer with metrics, in bytes. */
const MOST_METRICS_BYTES = 16 * 1024;

const TIMEOUT_MS = 5000;
const MOST_LOG_BYTES = 1024 * 1024;

/** @param routerUrl base URL of the router */
export function createInside(api: Api, secrets: () => readonly Uint8Array[], routerUrl: string): Inside {
  return {
    async metrics(sandbox) {
      if (sandbox.state === "paused") return [];
      const [secret] = secrets() as [Uint8Array];
      const headers = {
        "E2b-Sandbox-Id": sandbox.id,
        "E2b-Sandbox-Port": String(ENVD_PORT),
        "X-Access-Token": tokenOf(secret, "access", sandbox),
      };
      const signal = AbortSignal.timeout(TIMEOUT_MS);
      // Any program in the sandbox may answer: it must not choose what this process requests, or fill its memory.
      const request = { headers, signal, redirect: "error" } as const;
      const { data } = metricsSchema.safeParse(
        await fetch(`${routerUrl.replace(/\/$/, "")}/metrics`, request).then(async (answer) => {
          const { text, isWhole } = await textUpTo(answer, MOST_METRICS_BYTES);
          return isWhole ? JSON.parse(text) : undefined;
        }).catch(() => undefined),
      );
      if (!data) return [];
      return [{
        timestamp: new Date(data.ts * 1000).toISOString(),
        timestampUnix: Math.floor(data.ts),
        cpuCount: data.cpu_count,
        cpuUsedPct: data.cpu_used_pct,
        memUsed: data.mem_used,
        memTotal: data.mem_total,
        memCache: data.mem_cache,
        diskUsed: data.disk_used,
        diskTotal: data.disk_total,
      }];
    },
    async log(sandbox, since, limit) {
      const own = await ownSandbox(api, sandbox);
      if (!own) return [];
      const answer = await api.send({
        method: "GET",
        path: `${pathOf({ resource: "pods", namespace: sandbox.namespace, name: podNameOf(own) })}/log`,
        query: {
          timestamps: "true",
          limitBytes: String(MOST_LOG_BYTES),
          ...since > 0 ? { sinceTime: new Date(since).toISOString() } : {},
        },
      });
      // A paused sandbox has no Pod.
      if (!isOk(answer)) return [];
      const text = typeof answer.body === "string" ? answer.body : JSON.stringify(answer.body);
      const lines = text.split("\n").flatMap((line) => {
        const [, timestamp, rest = ""] = /^(\S+Z) ?(.*)$/.exec(line) ?? [];
        return timestamp === undefined || Date.parse(timestamp) < since ? [] : [{ timestamp, text: rest }];
      });
      return lines.slice(0, limit);
    },
  };
}
