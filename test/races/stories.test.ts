/** Stories with a known end, through all four hooks: what each costs, and what is left. @module */
import { expect, test } from "vitest";
import { controllerOf, type KubeObject } from "../../packages/api/objects/objects.ts";
import { findByName, objectsOf } from "../../packages/testing/store/memory.ts";
import { claimOf, readyOf, statusOf } from "./shown.ts";
import { CALM, type Outcome, run, type Scenario } from "./world.ts";

/** Runs a story in fine weather unless it says otherwise; nothing may be wrong at any time. */
async function story(scenario: Partial<Scenario>): Promise<Outcome> {
  const outcome = await run({ replicas: 1, acts: [], fates: [], forecast: CALM, ...scenario });
  const { violations, atRest, faults } = outcome;
  expect({ violations, atRest, faults }).toEqual({ violations: [], atRest: [], faults: [] });
  return outcome;
}

const names = (objects: KubeObject[]) => objects.map(({ metadata }) => metadata.name);
const members = ({ store }: Outcome) =>
  objectsOf(store, "Sandbox").filter(({ metadata }) => controllerOf(metadata)?.kind === "SandboxWarmPool");

test("a warm claim costs one write of the Sandbox, one of its annotations, one status; its Pod is relabelled, and no more", async () => {
  const { writes, store } = await story({ acts: [{ act: "claim", claim: 0, wait: 500 }] });
  const name = statusOf(findByName(store, "SandboxClaim", "claim-0")).sandbox?.name;
  expect(writes.filter((write) => write.includes("SandboxClaim"))).toEqual([
    "update SandboxClaim claim-0",
    "updateStatus SandboxClaim claim-0",
  ]);
  const ofSandbox = writes.filter((write) => write.endsWith(` ${name}`) && !write.startsWith("updateStatus"));
  expect(ofSandbox).toEqual([
    `create Sandbox ${name}`,
    `create Pod ${name}`,
    `update Sandbox ${name}`,
    `update Pod ${name}`,
  ]);
  expect(writes.filter((write) => write.startsWith("delete"))).toEqual([]);
});

test("of two binders at once one gives the Sandbox, and the claim has one", async () => {
  const acts: Scenario["acts"] = [
    { act: "restartBinder", overlap: true, wait: 400 },
    { act: "claim", claim: 0, wait: 50 },
    { act: "claim", claim: 1, wait: 0 },
  ];
  const outcome = await story({ replicas: 2, acts, forecast: { ...CALM, requestMs: [7, 3, 12] } });
  const given = objectsOf(outcome.store, "Sandbox").filter(claimOf);
  expect(new Set(given.map(claimOf)).size).toBe(2);
  expect(given).toHaveLength(2);
});

test("a binder that is killed between its two writes leaves a claim that the next one, or the hook, finishes", async () => {
  const acts: Scenario["acts"] = [
    { act: "claim", claim: 0, wait: 500 },
    { act: "restartBinder", overlap: false, wait: 60 },
  ];
  const { store } = await story({ acts, forecast: { ...CALM, requestMs: [50] } });
  expect(readyOf(findByName(store, "SandboxClaim", "claim-0"))?.status).toBe("True");
});

test("what is said of a Pod that disappeared goes by one write, where the next Pod fails: after a minute", async () => {
  const acts: Scenario["acts"] = [
    { act: "claim", claim: 0, cold: true, wait: 500 },
    { act: "evict", member: 0, wait: 1000 },
  ];
  const ready = { startMs: 20, probeMs: 10, fate: "ready", lifeMs: 0 } as const;
  const { writes, store } = await story({
    replicas: 0,
    acts,
    fates: [ready, { ...ready, fate: "fails" }],
    forecast: { ...CALM, lags: [{ kind: "Pod", from: 1550, lasts: 1000, delay: 300 }] },
  });
  const conditions = statusOf(findByName(store, "Sandbox", "claim-0")).conditions?.map(({ type }) => type);
  expect(conditions).not.toContain("PodLost");
  expect(writes.slice(-3)).toEqual([
    "updateStatus Sandbox claim-0",
    "updateStatus SandboxClaim claim-0",
    "updateStatus Sandbox claim-0",
  ]);
});

test.for([
  { policy: "Retain", claims: ["claim-0"] },
  { policy: "Delete", claims: [] },
  { policy: "DeleteForeground", claims: [] },
])("expiry, $policy: Sandbox and Pod go, $claims is left", async ({ policy, claims }) => {
  const outcome = await story({ acts: [{ act: "claim", claim: 0, expiresInMs: 1500, policy, wait: 500 }] });
  expect(names(objectsOf(outcome.store, "SandboxClaim"))).toEqual(claims);
  expect(objectsOf(outcome.store, "Sandbox").filter(claimOf)).toEqual([]);
  expect(names(objectsOf(outcome.store, "Pod"))).toEqual(names(members(outcome)));
});

test("a suspended Sandbox stays suspended, and comes back with another Pod", async () => {
  const acts: Scenario["acts"] = [
    { act: "claim", claim: 0, wait: 500 },
    { act: "suspend", claim: 0, resume: false, wait: 500 },
  ];
  const { store } = await story({ acts });
  expect(readyOf(findByName(store, "SandboxClaim", "claim-0"))?.reason).toBe("SandboxSuspended");
  expect(objectsOf(store, "Pod")).toHaveLength(1);
  const resumed = await story({ acts: [...acts, { act: "suspend", claim: 0, resume: true, wait: 900 }] });
  expect(readyOf(findByName(resumed.store, "SandboxClaim", "claim-0"))?.status).toBe("True");
});

test("a pool that is deleted and made again uses no name twice, and what it gave stays", async () => {
  const acts: Scenario["acts"] = [
    { act: "claim", claim: 0, wait: 500 },
    { act: "dropPool", wait: 700 },
    { act: "makePool", replicas: 2, wait: 100 },
  ];
  const { writes, store } = await story({ replicas: 2, acts });
  const made = writes.filter((write) => write.startsWith("create Sandbox "));
  expect(new Set(made).size).toBe(made.length);
  expect(readyOf(findByName(store, "SandboxClaim", "claim-0"))?.status).toBe("True");
});

test("a member that has failed is never bound, and is replaced", async () => {
  const fails = { startMs: 10, probeMs: 10, fate: "fails", lifeMs: 0 } as const;
  const { store } = await story({ replicas: 1, fates: [fails], acts: [{ act: "claim", claim: 0, wait: 500 }] });
  expect(readyOf(findByName(store, "SandboxClaim", "claim-0"))?.status).toBe("True");
});

test("claims without a member start cold, named like the claim; a pool of none never makes one", async () => {
  const outcome = await story({
    replicas: 0,
    acts: [{ act: "claim", claim: 0, wait: 100 }, { act: "claim", claim: 1, cold: true, wait: 0 }],
  });
  expect(names(objectsOf(outcome.store, "Sandbox"))).toEqual(["claim-0", "claim-1"]);
  expect(members(outcome)).toEqual([]);
});

test("a Sandbox that its user deletes is replaced by another, under the same claim", async () => {
  const { store, writes } = await story({
    replicas: 2,
    acts: [{ act: "claim", claim: 0, wait: 500 }, { act: "dropSandbox", claim: 0, wait: 500 }],
  });
  const shown = statusOf(findByName(store, "SandboxClaim", "claim-0")).sandbox?.name;
  expect(new Set(writes.filter((write) => write.startsWith("update Sandbox "))).size).toBe(2);
  expect(names(objectsOf(store, "Sandbox"))).toContain(shown);
});

test("a claim whose Pod has failed stays failed, even when its user deletes the Sandbox", async () => {
  const dies = { startMs: 10, probeMs: 10, fate: "dies", lifeMs: 900 } as const;
  const { store } = await story({
    replicas: 2,
    fates: [dies, dies],
    acts: [{ act: "claim", claim: 0, wait: 500 }, { act: "dropSandbox", claim: 0, wait: 1500 }],
  });
  expect(readyOf(findByName(store, "SandboxClaim", "claim-0"))).toMatchObject({ status: "False", reason: "PodFailed" });
  expect(objectsOf(store, "Sandbox").filter(claimOf)).toEqual([]);
});
