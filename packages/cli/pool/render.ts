/** Formats tables of pools. @module */
import { ageOf, humanDuration } from "../../summary/age.ts";
import { renderTable } from "../output/table.ts";
import type { PoolOutcome } from "./simulate.ts";
import type { PoolRow } from "./status.ts";
import type { PoolStudy } from "./study.ts";

const NONE = "<none>";

/** Formats pools as `kubectl get` does. @param withNamespace for pools of all namespaces */
export function renderPoolTable(
  rows: readonly PoolRow[],
  { now, withNamespace = false }: { now: Date; withNamespace?: boolean },
): string {
  const headers = ["NAME", "READY", "DESIRED", "WAITING", "SERVED (1H)", "COLD", "HIT RATE", "AGE", "WHY NOT FULL"];
  const cells = rows.map(({ name, ready, desired, waiting, served, hitRate, createdAt, notFull }) => [
    name,
    String(ready),
    String(desired),
    String(waiting),
    String(served.warm + served.cold + served.unknown),
    String(served.cold),
    hitRate === undefined ? NONE : percent(hitRate),
    ageOf(createdAt, now),
    notFull ?? NONE,
  ]);
  if (!withNamespace) return renderTable(headers, cells);
  return renderTable(["NAMESPACE", ...headers], cells.map((row, index) => [rows[index]?.namespace ?? "", ...row]));
}

/** Formats a simulation: its input, a line for each size, and the smallest size that reaches the target. */
export function renderSimulation(study: PoolStudy): string {
  const { outcomes, smallest, target, pool } = study;
  const headers = ["REPLICAS", "HIT RATE", "AT ONCE", "WAITED", "COLD", "WAIT P50", "P95", "P99", "IDLE", "NOTE"];
  const table = renderTable(headers, outcomes.map((outcome) => cellsOf(outcome, study)));
  const now = pool ? `, it has ${pool.replicas}` : "";
  return `${restsOn(study)}\n\n${table.replaceAll(/ +$/gm, "")}\nSmallest pool for a hit rate of ${
    percent(target)
  }: ${smallest}${now}\n`;
}

function restsOn({ pool, demand: { source, claims, spanSeconds }, refill, start }: PoolStudy): string {
  const subject = pool ? `Pool ${pool.namespace}/${pool.name}` : "A pool";
  const sources = { claims: "those that still exist", rate: "at random times", trace: "of the trace" };
  const per = ({ seconds, measured }: PoolStudy["refill"]) =>
    `${lengthOf(seconds)} (${measured > 0 ? `mean of ${measured}` : "given"})`;
  const span = humanDuration(spanSeconds * 1000);
  return `${subject}: ${claims.toLocaleString("en-US")} claims in ${span}, ${sources[source]}\n` +
    `A new member takes ${per(refill)}, a cold start ${per(start)}`;
}

function cellsOf(outcome: PoolOutcome, { smallest, pool, demand: { spanSeconds } }: PoolStudy): string[] {
  const { replicas, hitRate, ready, waited, cold, wait, idleSeconds } = outcome;
  const notes = [replicas === pool?.replicas ? "now" : "", replicas === smallest ? "enough" : ""].filter(Boolean);
  return [
    String(replicas),
    percent(hitRate),
    String(ready),
    String(waited),
    String(cold),
    lengthOf(wait.p50),
    lengthOf(wait.p95),
    lengthOf(wait.p99),
    // Average number of unused Sandboxes: what the pool costs in addition to the Sandboxes in use.
    spanSeconds > 0 ? (idleSeconds / spanSeconds).toFixed(1) : NONE,
    notes.join(", "),
  ];
}

/** Rounds down, so that 100 % is shown only if it is exact. */
function percent(share: number): string {
  return `${(Math.floor(share * 1000 + 1e-9) / 10).toFixed(1)}%`;
}

function lengthOf(seconds: number): string {
  if (seconds === 0) return "0s";
  return seconds < 10 ? `${Number(seconds.toFixed(1))}s` : humanDuration(seconds * 1000);
}
