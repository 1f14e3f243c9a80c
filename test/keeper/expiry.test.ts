import { describe, expect, test, vi } from "vitest";
import { expiryReconciler, type ExpiryVerdict, sandboxExpiryVerdict } from "../../packages/keeper/expiry.ts";
import { createDeletionBudget, UNLIMITED } from "../../packages/process/deletionbudget.ts";
import { aSandbox, NOW } from "../sandboxes.ts";
import { createFakeApi, refusal } from "../kube/fakeapi.ts";

const PAST = "2026-11-21T11:59:59Z";
const AHEAD = "2026-11-21T12:00:01Z";
const PATH = "/apis/agents.x-k8s.io/v1beta1/namespaces/team-a/sandboxes/demo";

function ready(reason: string, observedGeneration?: number) {
  const condition = { type: "Ready", status: "False", reason, message: "", lastTransitionTime: PAST };
  return { conditions: [observedGeneration === undefined ? condition : { ...condition, observedGeneration }] };
}

const EXPIRED = {
  spec: { shutdownPolicy: "Delete", shutdownTime: PAST },
  status: ready("SandboxExpired", 1),
};

interface Case {
  name: string;
  reason: string;
  over: { spec?: object; status?: object; metadata?: object };
  want: ExpiryVerdict;
}

const cases: Case[] = [
  {
    name: "published and past",
    reason: "both say so",
    over: {},
    want: { verdict: "delete", propagation: "Background" },
  },
  {
    name: "published, the very moment",
    reason: "the moment itself counts as past, as in the hook",
    over: { spec: { ...EXPIRED.spec, shutdownTime: NOW.toISOString() } },
    want: { verdict: "delete", propagation: "Background" },
  },
  {
    name: "published, ahead by our clock",
    reason: "clocks differ: the hook's is ahead of ours",
    over: { spec: { ...EXPIRED.spec, shutdownTime: AHEAD } },
    want: { verdict: "wait", until: Date.parse(AHEAD) },
  },
  {
    name: "no status",
    reason: "never on the clock alone",
    over: { status: undefined as never },
    want: { verdict: "keep" },
  },
  {
    name: "Ready for another reason",
    reason: "never on the clock alone",
    over: { status: ready("DependenciesReady", 1) },
    want: { verdict: "keep" },
  },
  {
    name: "published for an older spec",
    reason: "a user who has just changed the spec waits for the hook's word on it",
    over: { metadata: { generation: 2 } },
    want: { verdict: "keep" },
  },
  {
    name: "published without a generation",
    reason: "another hook may not write one",
    over: { status: ready("SandboxExpired") },
    want: { verdict: "delete", propagation: "Background" },
  },
  {
    name: "Retain",
    reason: "users keep the object and its volumes",
    over: { spec: { ...EXPIRED.spec, shutdownPolicy: "Retain" } },
    want: { verdict: "keep" },
  },
  {
    name: "no shutdownTime any more",
    reason: "the spec has the last word",
    over: { spec: { shutdownPolicy: "Delete" } },
    want: { verdict: "keep" },
  },
  {
    name: "a shutdownTime that is none",
    reason: "the API server lets some through that Date cannot read",
    over: { spec: { ...EXPIRED.spec, shutdownTime: "2016-12-31T23:59:60Z" } },
    want: { verdict: "keep" },
  },
  {
    name: "being deleted",
    reason: "somebody was first",
    over: { metadata: { deletionTimestamp: PAST } },
    want: { verdict: "keep" },
  },
];

test.for(cases)("sandboxExpiryVerdict(): $name", ({ over, want, reason }) => {
  const merged = { ...EXPIRED, ...over };
  if (merged.status === undefined) delete (merged as { status?: object }).status;
  expect(sandboxExpiryVerdict(aSandbox(merged), NOW.getTime()), reason).toEqual(want);
});

describe("expiryReconciler()", () => {
  const KIND = { kind: "Sandbox", resource: "sandboxes", judge: sandboxExpiryVerdict } as const;
  const aStoredSandbox = (api: ReturnType<typeof createFakeApi>, over: object = {}) =>
    aSandbox(api.put(PATH, { ...aSandbox({ ...EXPIRED, ...over }) }) as never);
  const now = NOW.getTime();

  test.for([-3_600_000, 3_600_000])("judges by the API server's time where its own is %i ms off", async (off) => {
    const api = createFakeApi();
    api.now = () => now;
    const ahead = new Date(now + 60_000).toISOString();
    const sandbox = aStoredSandbox(api, { spec: { ...EXPIRED.spec, shutdownTime: ahead } });
    const reconciler = expiryReconciler(api, () => {}, UNLIMITED, KIND);
    expect(reconciler.dueAt(sandbox, now + off), "in a minute, by its own clock").toBe(now + off + 60_000);
    await reconciler.reconcile(sandbox, now + off);
    expect(api.requests).toEqual([]);
    api.now = () => now + 60_000;
    await reconciler.reconcile(sandbox, now + off + 60_000);
    expect(api.requests.length).toBe(1);
  });

  test("deletes in the background what has this uid and this version", async () => {
    const api = createFakeApi();
    const report = vi.fn();
    const sandbox = aStoredSandbox(api);
    const reconciler = expiryReconciler(api, report, UNLIMITED, KIND);
    expect(reconciler.dueAt(sandbox, now)).toBe(now);
    await reconciler.reconcile(sandbox, now);
    const { uid, resourceVersion } = sandbox.metadata;
    expect(api.requests).toEqual([{
      method: "DELETE",
      path: PATH,
      body: {
        apiVersion: "v1",
        kind: "DeleteOptions",
        preconditions: { uid, resourceVersion },
        propagationPolicy: "Background",
      },
    }]);
    expect(api.get(PATH)).toBeUndefined();
    expect(reconciler.dueAt(sandbox, now)).toBeUndefined();
    expect(report).toHaveBeenCalledExactlyOnceWith("deleted", sandbox.metadata, { propagation: "Background" });
  });

  test("leaves what has changed since, and judges the new version afresh", async () => {
    const api = createFakeApi();
    const report = vi.fn();
    const seen = aStoredSandbox(api);
    const extended = aStoredSandbox(api, {
      spec: { ...EXPIRED.spec, shutdownTime: AHEAD },
      metadata: { generation: 2 },
    });
    const reconciler = expiryReconciler(api, report, UNLIMITED, KIND);
    await reconciler.reconcile(seen, now);
    expect(api.get(PATH)).toBeDefined();
    expect(report).not.toHaveBeenCalled();
    expect(reconciler.dueAt(seen, now)).toBeUndefined();
    expect(reconciler.dueAt(extended, now)).toBeUndefined();
  });

  test("leaves another Sandbox of the same name", async () => {
    const api = createFakeApi();
    const seen = aStoredSandbox(api);
    api.remove(PATH);
    aStoredSandbox(api, { metadata: { uid: "uid-another" } });
    await expiryReconciler(api, vi.fn(), UNLIMITED, KIND).reconcile(seen, now);
    expect(api.get(PATH)?.metadata.uid).toBe("uid-another");
  });

  test("takes a Sandbox that is gone for deleted", async () => {
    const api = createFakeApi();
    const sandbox = aStoredSandbox(api);
    api.remove(PATH);
    const report = vi.fn();
    const reconciler = expiryReconciler(api, report, UNLIMITED, KIND);
    await reconciler.reconcile(sandbox, now);
    expect(reconciler.dueAt(sandbox, now)).toBeUndefined();
    expect(report).not.toHaveBeenCalled();
  });

  test("deletes no more than the budget allows, says once what it puts off, and deletes that later", async () => {
    const api = createFakeApi();
    const report = vi.fn();
    let minutes = 0;
    const budget = createDeletionBudget({ perMinute: 2, now: () => minutes * 60_000 });
    const sandbox = aStoredSandbox(api);
    const reconciler = expiryReconciler(api, report, budget, KIND);
    await reconciler.reconcile(sandbox, now);
    expect(api.get(PATH)).toBeDefined();
    expect(report).toHaveBeenCalledExactlyOnceWith("deletion put off", sandbox.metadata, {});
    expect(reconciler.dueAt(sandbox, now)).toBe(now + 5000);

    await reconciler.reconcile(sandbox, now + 5000);
    expect(report).toHaveBeenCalledTimes(1);
    expect(reconciler.dueAt(sandbox, now + 5000)).toBe(now + 10_000);

    minutes = 1;
    await reconciler.reconcile(sandbox, now + 60_000);
    expect(api.get(PATH)).toBeUndefined();
    expect(report).toHaveBeenLastCalledWith("deleted", sandbox.metadata, { propagation: "Background" });
    expect(reconciler.dueAt(sandbox, now + 60_000)).toBeUndefined();
  });

  test.for([403, 429, 500])("fails on %d, so that it is tried again", async (status) => {
    const api = createFakeApi();
    const sandbox = aStoredSandbox(api);
    api.intercept = () => refusal(status, "not now");
    const reconciler = expiryReconciler(api, vi.fn(), UNLIMITED, KIND);
    await expect(reconciler.reconcile(sandbox, now)).rejects.toThrow(
      "Cannot delete expired Sandbox team-a/demo: not now",
    );
    expect(reconciler.dueAt(sandbox, now)).toBe(now);
  });
});
