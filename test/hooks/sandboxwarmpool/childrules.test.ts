/** How many members the guard lets a hook make: as many as the pool is short of, whatever the hook counts. @module */
import { expect, test } from "vitest";
import { sandboxWarmPoolHook } from "../../../hooks/sandboxwarmpool/hook.ts";
import { syncSandboxWarmPool } from "../../../hooks/sandboxwarmpool/sync.ts";
import { aPoolRequest, CONFIG } from "../../poolcalls.ts";
import { aMember, aPool } from "../../pools.ts";
import { NOW } from "../../sandboxes.ts";

/** What the guard says of a hook that takes the pool for one of so many members. */
function counting(replicas: number, wanted: number, ready = 0): string {
  const hook = sandboxWarmPoolHook(CONFIG, ({ parent, ...observed }, now, given) => {
    const misread = { ...parent, spec: { ...parent.spec, replicas } };
    return syncSandboxWarmPool({ ...observed, parent: misread }, now, given);
  });
  const sandboxes = Array.from({ length: ready }, (_, index) => aMember(index + 1));
  const outcome = hook.sync(aPoolRequest({ pool: aPool({ spec: { replicas: wanted } }), sandboxes }), NOW);
  return "refusal" in outcome ? outcome.refusal.message : "passes";
}

test.for([[18, 18, 0], [18, 18, 12], [12, 18, 0]] as const)(
  "a hook that counts %i makes what a pool of %i with %i members is short of, or less",
  ([replicas, wanted, ready]) => expect(counting(replicas, wanted, ready)).toBe("passes"),
);

test.for([[1008, 18, 0], [19, 18, 0], [19, 18, 18], [1, 0, 0]] as const)(
  "a hook that counts %i makes nothing for a pool of %i with %i members",
  ([replicas, wanted, ready]) =>
    expect(counting(replicas, wanted, ready)).toMatch(/parent asks? for \(more than the parent asks for\)/),
);
