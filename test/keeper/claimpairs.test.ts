/** What the keeper keeps of claims and Sandboxes to requeue claims, whichever comes first. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type ClaimPair, claimRequeueing } from "../../packages/keeper/claimwake.ts";
import { createReconcileQueue, type Reconciler } from "../../packages/kube/reconcilequeue.ts";
import { claimOf, PATCH, patched, putSandbox, sandboxOf, SUSPENDED, woken } from "./claimstate.ts";
import { CLAIMS_SANDBOX } from "./extensions.ts";
import { begin, pass, server } from "./stage.ts";

let stop: AbortController;

beforeEach(() => {
  begin();
  stop = new AbortController();
});
afterEach(() => {
  stop.abort();
  vi.useRealTimers();
});

describe("claimRequeueing()", () => {
  function setUp() {
    let reconciler: Reconciler<ClaimPair> | undefined;
    const observed: ClaimPair[] = [];
    const handlers = claimRequeueing(server, (own) => {
      reconciler = own;
      const queue = createReconcileQueue(own, { log() {} }, stop.signal);
      return { ...queue, observe: (pair) => (observed.push(pair), queue.observe(pair)) };
    });
    return { ...handlers, observed, waiting: () => reconciler?.memory.size };
  }

  test.for(["claims", "sandboxes"] as const)("works if %s come first", async (first) => {
    const { claims, sandboxes, observed } = setUp();
    const acts = {
      claims: () => claims.observe(claimOf(0, {})),
      sandboxes: () => sandboxes.observe(sandboxOf(0, { ready: SUSPENDED })),
    };
    acts[first]();
    expect(observed).toEqual([]);
    acts[first === "claims" ? "sandboxes" : "claims"]();
    expect(observed).toHaveLength(1);
    await pass(7);
    expect(patched()).toEqual([PATCH]);
  });

  test("remembers nothing of a claim that is consistent, gone, or without its Sandbox", () => {
    const { claims, sandboxes, waiting } = setUp();
    const wait = () => {
      claims.observe(claimOf(0, {}));
      sandboxes.observe(sandboxOf(0, { ready: SUSPENDED }));
      expect(waiting()).toBe(1);
    };
    wait();
    claims.observe(claimOf(0, { ready: SUSPENDED }));
    expect(waiting(), "consistent").toBe(0);
    wait();
    claims.gone("uid-job");
    expect(waiting(), "the claim is gone").toBe(0);
    wait();
    sandboxes.gone("uid-s");
    expect(waiting(), "the Sandbox is gone").toBe(0);
    wait();
    sandboxes.observe(sandboxOf(0, { ready: SUSPENDED, metadata: { ownerReferences: [] } }));
    expect(waiting(), "the Sandbox has no owner any more").toBe(0);
    wait();
    claims.observe(claimOf(0, { metadata: { deletionTimestamp: "2026-11-21T12:00:00Z" } }));
    expect(waiting(), "the claim is being deleted").toBe(0);
  });

  test("compares the expiry with the API server's clock", async () => {
    server.now = () => Date.now() + 300_000;
    const { claims, sandboxes } = setUp();
    putSandbox();
    claims.observe(claimOf(0, { spec: { lifecycle: { shutdownTime: "2026-11-21T12:10:00Z" } } }));
    sandboxes.observe(sandboxOf(0, { metadata: server.get(CLAIMS_SANDBOX)?.metadata ?? {} }));
    await pass(305);
    expect(patched()).toEqual([]);
    await pass(1.5);
    expect(woken()).toBe("2026-11-21T12:10:06.000Z");
  });

  test("keeps little of claims and Sandboxes, however large they are", () => {
    const { claims, sandboxes, observed } = setUp();
    const annotations = { large: "x".repeat(100_000) };
    claims.observe(claimOf(0, { metadata: { annotations } }));
    sandboxes.observe(sandboxOf(0, { metadata: { annotations } }));
    expect(observed).toHaveLength(1);
    expect(JSON.stringify(observed).length).toBeLessThan(600);
  });

  test("requeues the Sandbox that the claim names, also after another had its name", async () => {
    const { claims, sandboxes } = setUp();
    claims.observe(claimOf(0, {}));
    sandboxes.observe(sandboxOf(0, { metadata: { uid: "uid-old" } }));
    sandboxes.observe(sandboxOf(0, { ready: SUSPENDED }));
    sandboxes.gone("uid-old");
    await pass(7);
    expect(patched()).toEqual([PATCH]);
  });
});
