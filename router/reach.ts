/** Finds where a request goes: at once where the sandbox can be reached, else after a look or a wait. @module */
import { addressFor } from "./index/address.ts";
import type { Look } from "./index/look.ts";
import type { SandboxIndex } from "./index/sandboxindex.ts";
import { type Standing, standingOf } from "./index/standing.ts";
import { type Refusal, unreachable } from "./refusal.ts";
import type { Target } from "./target/target.ts";

/** Two ways to find a sandbox's address. */
export interface Reach {
  /** Without waiting; undefined: it takes {@link Reach.wait}. */
  now(target: Target): string | Refusal | undefined;
  wait(target: Target): Promise<string | Refusal>;
}

/** Makes it. */
export function createReach(index: SandboxIndex, look: Look): Reach {
  const placeOf = (target: Target, lookedAlready: boolean): string | Refusal | undefined => {
    const entry = index.find(target.namespace, target.name);
    const standing = standingOf(target, entry, Date.now());
    if (standing.state === "reachable") return addressFor(target, standing, entry);
    return lookedAlready || !isWorthALook(standing) ? refusalOf(target, standing) : undefined;
  };
  return {
    now: (target) => placeOf(target, false),
    async wait(target) {
      await look(target.namespace, target.name);
      return placeOf(target, true) ?? unreachable(target.name, "it is not known");
    },
  };
}

function isWorthALook(standing: Standing): boolean {
  return standing.state === "refused" && standing.mayLag;
}

function refusalOf({ name }: Target, standing: Exclude<Standing, { state: "reachable" }>): Refusal {
  if (standing.state === "refused") return standing.refusal;
  return unreachable(name, standing.state === "suspended" ? "the sandbox is suspended" : standing.cause);
}
