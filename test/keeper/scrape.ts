/** Reads metrics as Prometheus would. @module */
import type { KeeperMetrics } from "../../packages/keeper/metrics.ts";

/** Returns the samples whose names begin with `name`, as text lines. */
export async function linesOf(metrics: Pick<KeeperMetrics, "text">, name: string): Promise<string[]> {
  return (await metrics.text()).split("\n").filter((line) => line.startsWith(name));
}
