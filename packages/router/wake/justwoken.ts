/** Which sandboxes have just woken, so that an app in them may listen a little later than they are Ready. @module */
import { WOKEN_AT_ANNOTATION } from "../../api/router/annotations.ts";
import type { Target } from "../destination.ts";
import type { SandboxIndex } from "../index/sandboxindex.ts";

/** What is known of it. */
export interface JustWoken {
  /** Somebody has waited for the sandbox since then, and it can be reached now. @param since as of `performance.now()` */
  reached(target: Target, since: number): void;
  /** Whether the time for a wake is not over yet: by what was waited for here, or by what another router has noted. */
  holds(target: Target): boolean;
}

/** Entries are looked through for those that are over once there are so many. */
const MANY = 10_000;

/**
 * Makes it.
 *
 * @param holdMs longest wait for a sandbox that wakes up, in milliseconds
 * @param now in milliseconds since the epoch
 */
export function createJustWoken(index: SandboxIndex, holdMs: number, now: () => number): JustWoken {
  /** Until when, by sandbox. */
  const until = new Map<string, number>();
  return {
    reached({ namespace, name }, since) {
      const at = performance.now();
      if (until.size >= MANY) { for (const [key, end] of until) if (end <= at) until.delete(key); }
      until.set(`${namespace}/${name}`, since + holdMs);
    },
    holds({ namespace, name }) {
      const key = `${namespace}/${name}`;
      if ((until.get(key) ?? -Infinity) > performance.now()) return true;
      until.delete(key);
      const at = Date.parse(index.find(namespace, name)?.sandbox.annotations[WOKEN_AT_ANNOTATION] ?? "");
      return now() < at + holdMs;
    },
  };
}
