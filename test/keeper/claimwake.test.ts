/** The keeper requeues claims whose hook has not been called, by an annotation on their Sandboxes. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { METADATA_NOT_APPLIED } from "../../packages/api/keeperreports.ts";
import { EXPIRED, PATCH, patched, putClaim, putSandbox, type Shown, SUSPENDED, woken } from "./claimstate.ts";
import { aClaimsSandbox, CLAIMS_SANDBOX } from "./extensions.ts";
import { begin, end, keep, keeper, pass, server } from "./stage.ts";

beforeEach(begin);
afterEach(end);

describe("a claim that does not report the state of its Sandbox", () => {
  beforeEach(() => {
    putClaim();
    putSandbox();
  });

  test("is requeued after six seconds, at twelve, and then more and more seldom, until its hook answers", async () => {
    await keep(60);
    putSandbox({ ready: SUSPENDED, podIPs: [] });
    await pass(5.9);
    expect(patched()).toEqual([]);
    await pass(0.2);
    expect(woken()).toBe("2026-11-21T12:01:06.000Z");
    await pass(5);
    expect(patched()).toEqual([PATCH]);
    await pass(240);
    expect(patched()).toEqual([PATCH, PATCH, PATCH, PATCH, PATCH]);
    expect(woken()).toBe("2026-11-21T12:03:00.000Z");
    putClaim({ ready: SUSPENDED, podIPs: [] });
    await pass(3600);
    expect(patched()).toHaveLength(5);
  });

  test("is requeued every ten minutes at last, whatever the reason", async () => {
    await keep(0);
    putSandbox({ ready: SUSPENDED, podIPs: [] });
    await pass(4000);
    expect(patched()).toHaveLength(12);
  });

  test("is requeued by the next keeper, too", async () => {
    await keep(0);
    putSandbox({ ready: SUSPENDED, podIPs: [] });
    await pass(20);
    keeper.kill();
    await keep(5);
    expect(patched()).toHaveLength(2);
    await pass(2);
    expect(patched()).toHaveLength(3);
  });

  test.for<[string, Shown]>([
    ["another reason", { ready: ["False", "PodFailed"] }],
    ["other addresses", { podIPs: ["10.1.0.8"] }],
    ["no address any more", { podIPs: [] }],
  ])("is requeued when its Sandbox has %s", async ([, shown]) => {
    await keep(0);
    putSandbox(shown);
    await pass(7);
    expect(patched()).toEqual([PATCH]);
  });

  test("is requeued when its Sandbox has recovered from an error that the claim has copied", async () => {
    putClaim({ ready: ["False", "ReconcilerError", "Error seen: cannot create Pod"] });
    await keep(7);
    expect(patched()).toEqual([PATCH]);
  });

  test("costs no request when its hook answers in time, or the Sandbox changes back", async () => {
    await keep(0);
    for (let round = 0; round < 5; round++) {
      putSandbox({ ready: SUSPENDED, podIPs: [] });
      await pass(5);
      if (round % 2 === 0) putClaim({ ready: SUSPENDED, podIPs: [] });
      await pass(0.5);
      putSandbox();
      putClaim();
      await pass(60);
    }
    expect(patched()).toEqual([]);
  });

  test("is examined again in the next version of its Sandbox, if that has changed", async () => {
    let isFirst = true;
    server.intercept = ({ method }) => {
      if (method === "PATCH" && isFirst) {
        isFirst = false;
        putSandbox({ ready: SUSPENDED, podIPs: [], metadata: { labels: { a: "b" } } });
      }
      return undefined;
    };
    await keep(0);
    putSandbox({ ready: SUSPENDED, podIPs: [] });
    await pass(7);
    expect(woken()).toBeDefined();
    expect(patched()).toEqual([PATCH, PATCH]);
  });
});

describe("a claim whose spec has changed", () => {
  test("is requeued while its status is of the older generation", async () => {
    putClaim();
    putSandbox();
    await keep(60);
    putClaim({ generation: 2 });
    await pass(5.9);
    expect(patched()).toEqual([]);
    await pass(0.2);
    expect(patched()).toEqual([PATCH]);
    putClaim({ generation: 2, observed: 2 });
    await pass(3600);
    expect(patched()).toEqual([PATCH]);
  });

  test("so that it has expired already is not requeued at once", async () => {
    putClaim();
    putSandbox();
    await keep(60);
    putClaim({ generation: 2, spec: { lifecycle: { shutdownTime: "2026-11-21T11:00:00Z" } } });
    await pass(5.9);
    expect(patched()).toEqual([]);
    await pass(0.2);
    expect(patched()).toEqual([PATCH]);
  });
});

describe("a claim that expires", () => {
  const spec = { lifecycle: { shutdownTime: "2026-11-21T12:10:00Z" } };

  test("is requeued six seconds after its time, if it does not report this", async () => {
    putClaim({ spec });
    putSandbox();
    await keep(605);
    expect(patched()).toEqual([]);
    await pass(1.5);
    expect(woken()).toBe("2026-11-21T12:10:06.000Z");
    putClaim({ spec, ready: EXPIRED });
    await pass(3600);
    expect(patched()).toEqual([PATCH]);
  });

  test("costs no request if it is put off, or in a year", async () => {
    putClaim({ spec });
    putSandbox();
    await keep(590);
    const later = { lifecycle: { shutdownTime: "2027-11-21T12:00:00Z" } };
    putClaim({ spec: later, generation: 2 });
    await pass(1);
    putClaim({ spec: later, generation: 2, observed: 2 });
    await pass(3600);
    expect(patched()).toEqual([]);
  });

  test("is requeued at its time although it waits for something else at long intervals", async () => {
    putClaim({ spec });
    putSandbox({ ready: SUSPENDED });
    await keep(400);
    expect(woken()).toBe("2026-11-21T12:05:00.000Z");
    const sooner = { lifecycle: { shutdownTime: "2026-11-21T12:07:00Z" } };
    putClaim({ spec: sooner });
    await pass(27);
    expect(woken()).toBe("2026-11-21T12:07:06.000Z");
  });
});

const RETAIN = { lifecycle: { shutdownTime: "2026-11-21T11:00:00Z", shutdownPolicy: "Retain" } };
const METADATA = { additionalPodMetadata: { labels: { "sandbox.users.io/team": "red" } } };
const OWNER = { apiVersion: "extensions.agents.x-k8s.io/v1beta1", kind: "SandboxClaim", name: "other" };
const OTHER = [{ apiVersion: "v1", kind: "SandboxClaim", name: "job", uid: "uid-job", controller: true }];

test.for<[string, Shown, Shown]>([
  ["is consistent", {}, {}],
  ["has a Sandbox that is Ready, but has no address", { ready: ["False", "SandboxNotReady"], podIPs: [] }, {
    podIPs: [],
  }],
  ["has invalid metadata", { ready: ["False", "InvalidMetadata"], spec: METADATA }, {}],
  ["conflicts with its template", {
    ready: ["False", "ReconcilerError", `Error seen: metadata override conflict: label "a" is defined`],
    spec: METADATA,
  }, {}],
  ["has a Sandbox that the API server does not let Metacontroller update", {
    ready: ["False", "ReconcilerError", `Error seen: cannot update Sandbox "s": denied`],
    spec: METADATA,
  }, {}],
  ["has metadata that is not applied yet", { ready: ["True", "DependenciesReady", METADATA_NOT_APPLIED] }, {}],
  ["has expired and is retained", { ready: EXPIRED, spec: RETAIN }, {}],
  ["has expired, and its Sandbox has no Pod any more", { ready: EXPIRED, spec: RETAIN }, {
    ready: SUSPENDED,
    podIPs: [],
  }],
  [
    "has expired by another clock",
    { ready: EXPIRED, spec: { lifecycle: { shutdownTime: "2026-11-21T12:00:30Z" } } },
    {},
  ],
  ["has a Sandbox that is being deleted", {}, {
    ready: SUSPENDED,
    metadata: { deletionTimestamp: "2026-11-21T12:00:00Z" },
  }],
  ["is being deleted", { metadata: { deletionTimestamp: "2026-11-21T12:00:00Z" }, generation: 2 }, {
    ready: SUSPENDED,
  }],
  ["has a Sandbox that it does not control", {}, { ready: SUSPENDED, metadata: { ownerReferences: [] } }],
  ["has a Sandbox that another claim controls", {}, {
    ready: SUSPENDED,
    metadata: { ownerReferences: [{ ...OWNER, uid: "uid-other", controller: true }] },
  }],
  ["has a Sandbox that a foreign kind controls", {}, { ready: SUSPENDED, metadata: { ownerReferences: OTHER } }],
  ["reports no generation", { observed: "absent", generation: 3 }, {}],
  ["reports an expired Sandbox", { ready: ["False", "SandboxExpired"], podIPs: [] }, {
    ready: ["False", "SandboxExpired"],
    podIPs: [],
  }],
])("a claim that %s costs no request", async ([, claim, sandbox]) => {
  putClaim(claim);
  putSandbox(sandbox);
  await keep(1);
  // Every event lets the keeper compare anew.
  putSandbox(sandbox);
  putClaim(claim);
  await pass(7200);
  expect(patched().filter((request) => request.includes("sandboxes"))).toEqual([]);
});

test("a claim whose Sandbox has no Ready condition costs no request: its hook reports nothing then", async () => {
  putClaim();
  putSandbox();
  await keep(1);
  server.put(CLAIMS_SANDBOX, { ...aClaimsSandbox(undefined, { status: { observedGeneration: 1, conditions: [] } }) });
  await pass(3600);
  expect(patched()).toEqual([]);
});
