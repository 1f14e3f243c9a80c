/** How requests to an API server are counted, from one moment to another. @module */
import type { RequestCount } from "../result.ts";

export interface RequestLog {
  /** Marks the beginning. */
  begin(): Promise<void>;
  /** Lists what came since, most first. */
  end(): Promise<RequestCount[]>;
}

export type RequestKind = Omit<RequestCount, "count">;

/** Adds up requests of the same kind; what adds up to nothing is not listed. */
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
