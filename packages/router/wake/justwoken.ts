/**
 * Records which sandboxes have just woken or started: their apps may listen a little later than they become Ready.
 * @module
 */
import { WOKEN_AT_ANNOTATION } from "../../api/router/annotations.ts";
import type { Target } from "../destination.ts";
import type { SandboxIndex } from "../index/sandboxindex.ts";

export interface JustWoken {
  /** Records that the sandbox can be reached after a wait. @param since when the wait began, by `performance.now()` */
  reached(target: Target, since: number): void;
  /**
   * Tells whether to go on waiting for an app that does not listen yet: the request is younger than `wakeTimeout`, and so is the
   * wake, as this router has seen it or as another router's annotation says.
   *
   * @param since when the request began, by `performance.now()`
   */
  mayYetListen(target: Target, since: number): boolean;
}

/** If there are more entries, expired ones are removed. */
const MANY = 10_000;

/**
 * Creates the record.
 *
 * @param wakeTimeout longest wait for a sandbox that wakes up, in milliseconds
 * @param now in milliseconds since the epoch
 */
export function createJustWoken(index: SandboxIndex, wakeTimeout: number, now: () => number): JustWoken {
  /** When each entry expires, by sandbox. */
  const until = new Map<string, number>();
  return {
    reached({ namespace, name }, since) {
      const at = performance.now();
      if (until.size >= MANY) { for (const [key, end] of until) if (end <= at) until.delete(key); }
      until.set(`${namespace}/${name}`, since + wakeTimeout);
    },
    mayYetListen({ namespace, name }, since) {
      const at = performance.now();
      if (at - since >= wakeTimeout) return false;
      const key = `${namespace}/${name}`;
      if ((until.get(key) ?? -Infinity) > at) return true;
      until.delete(key);
      const wokenAt = Date.parse(index.find(namespace, name)?.sandbox.annotations[WOKEN_AT_ANNOTATION] ?? "");
      return now() < wokenAt + wakeTimeout;
    },
  };
}
