/** Defines how requests to an API server are counted between two moments. @module */
import type { RequestCount } from "../result.ts";

export interface RequestLog {
  /** Starts to count. */
  begin(): Promise<void>;
  /** Lists the requests since then, the most frequent first. */
  end(): Promise<RequestCount[]>;
}

export type RequestKind = Omit<RequestCount, "count">;

/** Adds up requests of the same kind. Kinds with a sum of 0 are not listed. */
export function createTally() {
  const counts = new Map<string, number>();
  return {
    add(request: RequestKind, count: number): void {
      const key = JSON.stringify(request);
      counts.set(key, (counts.get(key) ?? 0) + count);
    },
    list: (): RequestCount[] =>
      [...counts].flatMap(([key, count]) => count > 0 ? [{ ...JSON.parse(key) as RequestKind, count }] : [])
        .sort((a, b) => b.count - a.count),
  };
}
