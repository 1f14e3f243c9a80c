/** How long each part of a wait took, as a Server-Timing header. Knows no clock. @module */

export interface Stopwatch {
  /** Begins a part; the same one again goes on. Times in milliseconds. */
  enter(part: string, now: number): void;
  /** Returns the header's value: every part in order, and the whole as `hold`. */
  stop(now: number): string;
}

/** Makes a stopwatch that runs. */
export function createStopwatch(startedAt: number): Stopwatch {
  const parts = new Map<string, number>();
  let current: string | undefined;
  let since = startedAt;
  const settle = (now: number) => {
    if (current !== undefined) parts.set(current, (parts.get(current) ?? 0) + now - since);
    since = now;
  };
  return {
    enter(part, now) {
      settle(now);
      current = part;
    },
    stop(now) {
      settle(now);
      const metrics = [...parts, ["hold", now - startedAt] as const];
      return metrics.map(([part, ms]) => `${part.replaceAll(" ", "-")};dur=${ms.toFixed(1)}`).join(", ");
    },
  };
}
