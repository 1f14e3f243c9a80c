/** Finds where a request goes where that takes no waiting. Pure but for the index it reads. @module */
import { addressFor } from "./index/address.ts";
import type { SandboxIndex } from "./index/sandboxindex.ts";
import { type Standing, standingOf } from "./index/standing.ts";
import type { Refusal } from "./refusal.ts";
import type { Target } from "./target/target.ts";
import type { Hold } from "./wake/hold.ts";

/** Two ways to find a sandbox's address, and what there is to tell of it meanwhile. */
export interface Reach {
  /** Without waiting; undefined: it takes {@link Reach.hold}. */
  now(target: Target): string | Refusal | undefined;
  hold: Hold;
  standing(target: Target): Standing;
}

/** Makes it. */
export function createReach(index: SandboxIndex, hold: Hold): Reach {
  return {
    hold,
    now(target) {
      const entry = index.find(target.namespace, target.name);
      const standing = standingOf(target, entry, Date.now());
      if (standing.state === "reachable") return addressFor(target, standing, entry);
      return standing.state === "refused" && !standing.mayLag ? standing.refusal : undefined;
    },
    standing: (target) => standingOf(target, index.find(target.namespace, target.name), Date.now()),
  };
}
