import { describe, expect, test, vi } from "vitest";
import { claimExpiryVerdict, expiryReconciler, type ExpiryVerdict } from "../../packages/keeper/expiry.ts";
import { UNLIMITED } from "../../packages/process/deletionbudget.ts";
import { NOW } from "../sandboxes.ts";
import { aClaim, aCondition, CLAIM } from "./extensions.ts";
import { createFakeApi } from "../kube/fakeapi.ts";

const now = NOW.getTime();
const PAST = "2026-11-21T11:59:59Z";
const AHEAD = "2026-11-21T12:00:01Z";
const EXPIRED = aCondition("Ready", "False", "ClaimExpired", { observedGeneration: 1 });
/** Finished a minute ago. */
const FINISHED = aCondition("Finished", "True", "PodSucceeded");
const DELETE: ExpiryVerdict = { verdict: "delete", propagation: "Background" };
const KEEP: ExpiryVerdict = { verdict: "keep" };

interface Case {
  name: string;
  lifecycle?: object | undefined;
  conditions?: object[];
  metadata?: object;
  want: ExpiryVerdict;
}

const cases: Case[] = [
  { name: "published and past", want: DELETE },
  {
    name: "DeleteForeground",
    lifecycle: { shutdownTime: PAST, shutdownPolicy: "DeleteForeground" },
    want: { verdict: "delete", propagation: "Foreground" },
  },
  { name: "Retain", lifecycle: { shutdownTime: PAST, shutdownPolicy: "Retain" }, want: KEEP },
  { name: "no policy, which is Retain", lifecycle: { shutdownTime: PAST }, want: KEEP },
  { name: "no lifecycle any more", lifecycle: undefined, want: KEEP },
  { name: "not published", conditions: [FINISHED], want: KEEP },
  { name: "published for an older spec", metadata: { generation: 2 }, want: KEEP },
  { name: "being deleted", metadata: { deletionTimestamp: PAST }, want: KEEP },
  {
    name: "a shutdownTime ahead by our clock",
    lifecycle: { shutdownTime: AHEAD, shutdownPolicy: "Delete" },
    want: { verdict: "wait", until: Date.parse(AHEAD) },
  },
  {
    name: "finished for as long as it may",
    lifecycle: { ttlSecondsAfterFinished: 60, shutdownPolicy: "Delete" },
    conditions: [EXPIRED, FINISHED],
    want: DELETE,
  },
  {
    name: "finished for less than that by our clock",
    lifecycle: { ttlSecondsAfterFinished: 61, shutdownPolicy: "Delete" },
    conditions: [EXPIRED, FINISHED],
    want: { verdict: "wait", until: now + 1000 },
  },
  {
    name: "the earlier of both times",
    lifecycle: { ttlSecondsAfterFinished: 0, shutdownTime: AHEAD, shutdownPolicy: "Delete" },
    conditions: [EXPIRED, FINISHED],
    want: DELETE,
  },
  {
    name: "a time to live, and no end",
    lifecycle: { ttlSecondsAfterFinished: 0, shutdownPolicy: "Delete" },
    want: KEEP,
  },
  {
    name: "a time to live, and an end taken back",
    lifecycle: { ttlSecondsAfterFinished: 0, shutdownPolicy: "Delete" },
    conditions: [EXPIRED, { ...FINISHED, status: "False" }],
    want: KEEP,
  },
];

const DUE = { shutdownTime: PAST, shutdownPolicy: "Delete" };

test.for(cases)("claimExpiryVerdict(): $name", ({ want, ...over }) => {
  const lifecycle = "lifecycle" in over ? over.lifecycle : DUE;
  const { metadata = {}, conditions = [EXPIRED] } = over;
  const claim = aClaim({ metadata, spec: lifecycle ? { lifecycle } : {}, status: { conditions } });
  expect(claimExpiryVerdict(claim, now)).toEqual(want);
});

describe("expiryReconciler() of claims", () => {
  test.for(
    [["Delete", "Background"], ["DeleteForeground", "Foreground"]] as const,
  )("%s deletes this very claim with propagation %s", async ([shutdownPolicy, propagation]) => {
    const api = createFakeApi();
    const lifecycle = { ...DUE, shutdownPolicy };
    const claim = aClaim(api.put(CLAIM, { ...aClaim({ spec: { lifecycle }, status: { conditions: [EXPIRED] } }) }));
    const report = vi.fn();
    const kind = { kind: "SandboxClaim", resource: "sandboxclaims", judge: claimExpiryVerdict } as const;
    const reconciler = expiryReconciler(api, report, UNLIMITED, kind);
    await reconciler.reconcile(claim, now);
    const { uid, resourceVersion } = claim.metadata;
    expect(api.requests).toEqual([{
      method: "DELETE",
      path: CLAIM,
      body: {
        apiVersion: "v1",
        kind: "DeleteOptions",
        preconditions: { uid, resourceVersion },
        propagationPolicy: propagation,
      },
    }]);
    expect(api.get(CLAIM)).toBeUndefined();
    expect(reconciler.dueAt(claim, now)).toBeUndefined();
    expect(report).toHaveBeenCalledExactlyOnceWith("deleted", claim.metadata, { propagation });
  });
});
