/** Finds the address of a sandbox: from the index at once, or after a wait. @module */
import { addressFor, type Reachability, reachabilityOf } from "./index/reachability.ts";
import type { SandboxIndex } from "./index/sandboxindex.ts";
import type { Refusal } from "./refusal.ts";
import type { Target } from "./destination.ts";
import type { JustWoken } from "./wake/justwoken.ts";
import type { Hold } from "./wake/waitingrequest.ts";

/** Ways to find a sandbox's address, and the reason why a client has to wait. */
export interface Reach {
  /** The address or a refusal, without waiting; undefined: call {@link Reach.hold}. */
  now(target: Target): string | Refusal | undefined;
  hold: Hold;
  reachability(target: Target): Reachability;
  mayYetListen: JustWoken["mayYetListen"];
}

/** Makes the address look-up. @param now in milliseconds since the epoch */
export function createReach(
  index: SandboxIndex,
  hold: Hold,
  justWoken: JustWoken,
  now: () => number = Date.now,
): Reach {
  return {
    hold,
    mayYetListen: justWoken.mayYetListen,
    now(target) {
      const entry = index.find(target.namespace, target.name);
      const reachability = reachabilityOf(target, entry, now());
      if (reachability.state === "reachable") return addressFor(target, reachability, entry);
      return reachability.state === "refused" && !reachability.mayLag ? reachability.refusal : undefined;
    },
    reachability: (target) => reachabilityOf(target, index.find(target.namespace, target.name), now()),
  };
}
