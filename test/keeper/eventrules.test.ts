import { describe, expect, test } from "vitest";
import { viewClaim, viewSandbox } from "../../packages/summary/views.ts";
import {
  childrenKept,
  claimBound,
  claimDeleted,
  claimExpired,
  multiplePods,
  poolProgress,
} from "../../packages/keeper/observability/eventrules.ts";
import { aSandbox, NOW } from "../sandboxes.ts";
import { aClaimsSandbox } from "./bound.ts";
import { aClaim, aCondition, aPool } from "./extensions.ts";

const TIME = "2026-11-21T11:59:00Z";
const at = Date.parse(TIME);
const CLAIM = {
  apiVersion: "extensions.agents.x-k8s.io/v1beta1",
  kind: "SandboxClaim",
  namespace: "team-a",
  name: "job",
  uid: "uid-job",
};

describe("multiplePods()", () => {
  test("tells of a Sandbox with more than one Pod, in the condition's words", () => {
    const condition = aCondition("Ready", "False", "MultiplePods", { message: "multiple Pods (2) are controlled" });
    expect(multiplePods(aSandbox({ status: { conditions: [condition] } }))).toEqual({
      mark: TIME,
      occurrence: {
        regarding: {
          apiVersion: "agents.x-k8s.io/v1beta1",
          kind: "Sandbox",
          namespace: "team-a",
          name: "demo",
          uid: "uid-demo",
        },
        type: "Warning",
        reason: "MultiplePods",
        action: "Reconciling",
        note: "multiple Pods (2) are controlled",
        reportingController: "sandbox-controller",
        key: TIME,
        at,
      },
    });
  });

  test("says nothing of others", () => {
    expect(multiplePods(aSandbox())).toEqual({});
    const conditions = [aCondition("Ready", "False", "DependenciesNotReady")];
    expect(multiplePods(aSandbox({ status: { conditions } }))).toEqual({});
  });
});

test("childrenKept() tells once that the guard keeps children, in the condition's words", () => {
  const guarded = aCondition("Guarded", "True", "TooManyLosses", { message: "Deletion delayed" });
  expect(childrenKept(aPool({ status: { conditions: [guarded] } }))).toMatchObject({
    mark: "Guarded",
    occurrence: {
      regarding: { kind: "SandboxWarmPool", name: "pool" },
      type: "Warning",
      reason: "TooManyLosses",
      note: "Deletion delayed",
      reportingController: "sandboxwarmpool-controller",
      at,
    },
  });
  expect([childrenKept(aPool({ status: { conditions: [] } })), childrenKept(aSandbox())]).toEqual([{}, {}]);
});

describe("poolProgress()", () => {
  const aPoolThat = (status: string, over: object = {}, metadata: object = {}) =>
    aPool({ status: { conditions: [aCondition("Progressing", status, "Unschedulable", over)] }, metadata });

  test("tells once that a pool cannot fill, even if a hook that saw an older status stamps it again", () => {
    const again = aPoolThat("False", { lastTransitionTime: "2026-11-21T11:59:01Z" });
    expect(poolProgress(again, `False ${TIME}`)).toEqual({ mark: `False ${TIME}` });
    expect(poolProgress(again, `True ${TIME}`).occurrence).toMatchObject({ reason: "WarmPoolNotProgressing" });
  });

  test("tells of a pool that cannot fill, in the condition's words", () => {
    const sight = poolProgress(aPoolThat("False", { message: "2/3 sandboxes are unschedulable" }), undefined);
    expect(sight).toMatchObject({
      mark: `False ${TIME}`,
      occurrence: {
        regarding: { kind: "SandboxWarmPool", name: "pool", uid: "uid-pool" },
        type: "Warning",
        reason: "WarmPoolNotProgressing",
        action: "Reconciling",
        note: "2/3 sandboxes are unschedulable",
        reportingController: "sandboxwarmpool-controller",
        at,
      },
    });
  });

  test("tells of one that can again", () => {
    expect(poolProgress(aPoolThat("True"), "False 2026-11-21T11:00:00Z")).toMatchObject({
      mark: `True ${TIME}`,
      occurrence: {
        type: "Normal",
        reason: "WarmPoolProgressing",
        action: "Reconciling",
        note: "Warm pool is progressing again",
        reportingController: "sandboxwarmpool-controller",
      },
    });
  });

  test.for<[string, string | undefined, string, boolean]>([
    ["was progressing all the time", "True 2026-11-21T11:00:00Z", "2026-11-21T11:00:00Z", false],
    ["has just been seen without a condition", "", "2026-11-21T11:00:00Z", false],
    ["is first seen, and began soon after its creation", undefined, "2026-11-21T11:58:30Z", false],
    ["is first seen, and began long after its creation", undefined, "2026-11-21T11:00:00Z", true],
  ])("of a pool that %s: progressing again is %s", ([, before, creationTimestamp, want]) => {
    const { occurrence } = poolProgress(aPoolThat("True", {}, { creationTimestamp }), before);
    expect(occurrence !== undefined).toBe(want);
  });

  test("waits for a condition, and remembers over one that is unknown", () => {
    expect(poolProgress(aPool(), undefined)).toEqual({ mark: "" });
    expect(poolProgress(aPoolThat("Unknown"), "False x")).toEqual({ mark: "False x" });
  });
});

describe("claimExpired()", () => {
  const EXPIRED = { conditions: [aCondition("Ready", "False", "ClaimExpired")] };

  test("tells of an expiry that has been published", () => {
    expect(claimExpired(aClaim({ status: EXPIRED })).occurrence).toEqual({
      regarding: CLAIM,
      type: "Normal",
      reason: "ClaimExpired",
      action: "Claim Expired",
      note: "Claim expired",
      reportingController: "sandboxclaim-controller",
      key: `published ${TIME}`,
      at,
    });
  });

  test("says nothing of others", () => {
    expect(claimExpired(aClaim())).toEqual({});
    expect(claimExpired(aClaim({ status: { conditions: [aCondition("Ready", "False", "PodFailed")] } }))).toEqual({});
  });

  const finished = aCondition("Finished", "True", "PodSucceeded", { lastTransitionTime: "2026-11-21T11:00:00Z" });
  test.for<[string, object, object[], string]>([
    ["the condition's, if it flipped then", { shutdownTime: "2026-11-21T11:58:00Z" }, [], TIME],
    [
      "the shutdownTime, if it was not Ready before",
      { shutdownTime: "2026-11-21T11:59:30Z" },
      [],
      "2026-11-21T11:59:30Z",
    ],
    [
      "the end of the wait after it had finished",
      { ttlSecondsAfterFinished: 3590 },
      [finished],
      "2026-11-21T11:59:50Z",
    ],
    [
      "the earlier of both",
      { ttlSecondsAfterFinished: 3590, shutdownTime: "2026-11-21T11:59:45Z" },
      [finished],
      "2026-11-21T11:59:45Z",
    ],
  ])("takes for its time %s", ([, lifecycle, more, want]) => {
    const claim = aClaim({ spec: { lifecycle }, status: { conditions: [...EXPIRED.conditions, ...more] } });
    expect(claimExpired(claim).occurrence?.at).toBe(Date.parse(want));
  });
});

test("claimDeleted() tells of a claim that the keeper has deleted, apart from its expiry", () => {
  const occurrence = claimDeleted(aClaim().metadata, "DeleteForeground", NOW.getTime());
  expect(occurrence).toEqual({
    regarding: CLAIM,
    type: "Normal",
    reason: "ClaimExpired",
    action: "Deleting",
    note: "Deleting Claim (ShutdownPolicy=DeleteForeground)",
    reportingController: "sandboxclaim-controller",
    key: "deleting",
    at: NOW.getTime(),
  });
});

describe("claimBound()", () => {
  const view = viewClaim(aClaim({ metadata: { creationTimestamp: TIME } }));
  const bound = (over: object) => claimBound(view, viewSandbox(aClaimsSandbox(over)) as never);

  test("tells of a Sandbox that stood ready, at the time when it was bound", () => {
    expect(bound({})).toEqual({
      regarding: CLAIM,
      type: "Normal",
      reason: "SandboxAdopted",
      action: "Adoption",
      note: 'Adopted warm pool Sandbox "pool-1"',
      reportingController: "sandboxclaim-controller",
      key: "uid-pool-1",
      at: Date.parse("2026-11-21T11:59:59.500Z"),
    });
  });

  test("tells of a Sandbox that was made for the claim", () => {
    expect(bound({ launchType: "cold", name: "job" })).toMatchObject({
      reason: "SandboxProvisioned",
      action: "Provisioning",
      note: 'Created Sandbox "job"',
    });
  });

  test("is no earlier than the claim where the time of the binding is unknown", () => {
    expect(bound({ assignedAt: undefined })?.at).toBe(at);
  });

  test("says nothing of a Sandbox that is neither", () => {
    expect(bound({ launchType: "unknown" })).toBeUndefined();
  });
});
