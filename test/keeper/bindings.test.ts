import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type Bindings, createBindings } from "../../packages/keeper/observability/bindings.ts";
import { NOW } from "../sandboxes.ts";
import { aBoundClaim, aClaimsSandbox, aWaitingClaim } from "./bound.ts";

const READY_AT = "2026-11-21T11:59:59.600Z";

let told: string[];
let bindings: Bindings;
let end: AbortController;
beforeEach(() => {
  vi.useFakeTimers({ now: NOW });
  told = [];
  end = new AbortController();
  bindings = createBindings({
    onBound: (claim, { name, launchType }, isNew) =>
      told.push(`${claim.regarding.name} ${launchType} ${name}${isNew ? "" : " before"}`),
    onFirstReady: (claim, sandbox) => told.push(`${claim.regarding.name} ready ${sandbox?.name}`),
  }, end.signal);
});
afterEach(() => {
  end.abort();
  vi.useRealTimers();
});

/** The keeper has seen everything there was. */
function start(claims: string[] = [], sandboxes: string[] = []): void {
  bindings.claims.listed?.(new Set(claims));
  bindings.sandboxes.listed?.(new Set(sandboxes));
}

describe("a claim that is served while the keeper runs", () => {
  const BOUND = "job warm pool-1";
  const READY = "job ready pool-1";

  test("has nothing to do with a Sandbox of another namespace that names it as its owner", () => {
    start();
    bindings.claims.observe(aBoundClaim());
    const own = aClaimsSandbox();
    bindings.sandboxes.observe({ ...own, metadata: { ...own.metadata, namespace: "elsewhere", uid: "forged" } });
    expect(told).toEqual([]);
    bindings.sandboxes.observe(own);
    expect(told).toEqual([BOUND]);
  });

  test("is reported once it and its Sandbox say the same, whichever comes first", () => {
    start();
    bindings.claims.observe(aWaitingClaim());
    bindings.claims.observe(aBoundClaim());
    expect(told).toEqual([]);
    bindings.sandboxes.observe(aClaimsSandbox());
    expect(told).toEqual([BOUND]);
    bindings.claims.observe(aBoundClaim({ readyAt: READY_AT }));
    expect(told).toEqual([BOUND, READY]);
  });

  test("is reported when the Sandbox is seen first", () => {
    start();
    bindings.sandboxes.observe(aClaimsSandbox());
    bindings.claims.observe(aWaitingClaim());
    expect(told).toEqual([]);
    bindings.claims.observe(aBoundClaim({ readyAt: READY_AT }));
    expect(told).toEqual([BOUND, READY]);
  });

  test("is reported once, whatever is shown again", () => {
    start();
    for (let round = 0; round < 2; round++) {
      bindings.claims.observe(aBoundClaim({ readyAt: READY_AT }));
      bindings.sandboxes.observe(aClaimsSandbox());
      start(["uid-job"], ["uid-pool-1"]);
    }
    expect(told).toEqual([BOUND, READY]);
  });

  test("waits with its first Ready for the Sandbox's own", () => {
    start();
    bindings.sandboxes.observe(aClaimsSandbox({ readyAt: undefined }));
    bindings.claims.observe(aBoundClaim({ readyAt: READY_AT }));
    expect(told).toEqual([BOUND]);
    bindings.sandboxes.observe(aClaimsSandbox());
    expect(told).toEqual([BOUND, READY]);
  });

  test("does not wait for a Sandbox that was Ready and is no more", () => {
    start();
    bindings.claims.observe(aBoundClaim());
    bindings.sandboxes.observe(aClaimsSandbox());
    bindings.sandboxes.observe(aClaimsSandbox({ readyAt: undefined }));
    bindings.claims.observe(aBoundClaim({ readyAt: READY_AT }));
    expect(told).toEqual([BOUND, READY]);
  });

  test("that is given two is reported with the one that it keeps", () => {
    start();
    bindings.claims.observe(aWaitingClaim());
    bindings.sandboxes.observe(aClaimsSandbox({ name: "pool-2" }));
    bindings.sandboxes.observe(aClaimsSandbox());
    bindings.claims.observe(aBoundClaim());
    bindings.sandboxes.gone("uid-pool-2");
    expect(told).toEqual([BOUND]);
  });

  test("that lost its Sandbox and was given another is reported again, but not a first Ready", () => {
    start();
    bindings.claims.observe(aBoundClaim({ readyAt: READY_AT }));
    bindings.sandboxes.observe(aClaimsSandbox());
    bindings.sandboxes.gone("uid-pool-1");
    bindings.sandboxes.observe(aClaimsSandbox({ name: "pool-2" }));
    bindings.claims.observe(aBoundClaim({ sandbox: "pool-2", readyAt: READY_AT }));
    expect(told).toEqual([BOUND, READY, "job warm pool-2"]);
  });

  test("is not reported with a Sandbox of its name that belongs to another claim", () => {
    start();
    bindings.sandboxes.observe(aClaimsSandbox({ claim: "uid-other" }));
    bindings.claims.observe(aBoundClaim());
    expect(told).toEqual([]);
    bindings.sandboxes.observe(aClaimsSandbox());
    expect(told).toEqual([BOUND]);
  });

  test("is not reported with a Sandbox that was its own and is another's now", () => {
    start();
    bindings.sandboxes.observe(aClaimsSandbox());
    bindings.sandboxes.observe(aClaimsSandbox({ claim: "uid-other" }));
    bindings.claims.observe(aBoundClaim());
    expect(told).toEqual([]);
  });

  test("whose first Ready nobody took note of has none", () => {
    start();
    bindings.claims.observe(aBoundClaim({ readyAt: "unknown" }));
    bindings.sandboxes.observe(aClaimsSandbox());
    expect(told).toEqual([BOUND]);
  });
});

describe("a claim that was there before the keeper", () => {
  test("and was bound is reported as such; its first Ready is not", () => {
    bindings.claims.observe(aBoundClaim({ readyAt: READY_AT }));
    bindings.sandboxes.observe(aClaimsSandbox());
    start(["uid-job"], ["uid-pool-1"]);
    expect(told).toEqual(["job warm pool-1 before"]);
  });

  test("and was Ready without a note of it yet has no first Ready", () => {
    const { metadata, ...claim } = aBoundClaim({ readyAt: READY_AT });
    bindings.claims.observe({ ...claim, metadata: { ...metadata, annotations: {} } });
    start(["uid-job"]);
    bindings.sandboxes.observe(aClaimsSandbox());
    bindings.claims.observe(aBoundClaim({ readyAt: READY_AT }));
    expect(told).toEqual(["job warm pool-1 before"]);
  });

  test("and waited is reported as any other", () => {
    bindings.claims.observe(aWaitingClaim());
    start(["uid-job"]);
    bindings.claims.observe(aBoundClaim({ readyAt: READY_AT }));
    bindings.sandboxes.observe(aClaimsSandbox());
    expect(told).toEqual(["job warm pool-1", "job ready pool-1"]);
  });

  test("and whose Sandbox is created again under the same name is reported as any other", () => {
    const cold = { name: "job", launchType: "cold" };
    bindings.claims.observe(aBoundClaim({ sandbox: "job" }));
    bindings.sandboxes.observe(aClaimsSandbox(cold));
    start(["uid-job"], ["uid-job"]);
    bindings.sandboxes.gone("uid-job");
    bindings.sandboxes.observe(aClaimsSandbox({ ...cold, uid: "uid-job-2" }));
    expect(told).toEqual(["job cold job before", "job cold job"]);
  });
});

describe("a claim that is gone", () => {
  const gone = () => bindings.claims.gone("uid-job");

  test("is reported when its Sandbox is seen late, and is no longer among the claims", () => {
    start();
    bindings.claims.observe(aBoundClaim({ readyAt: READY_AT }));
    gone();
    expect([...bindings.views()]).toEqual([]);
    bindings.sandboxes.observe(aClaimsSandbox());
    expect(told).toEqual(["job warm pool-1", "job ready pool-1"]);
  });

  test("has had its first Ready, even if its Sandbox is never seen", () => {
    start();
    bindings.claims.observe(aBoundClaim({ readyAt: READY_AT }));
    gone();
    vi.advanceTimersByTime(29_000);
    expect(told).toEqual([]);
    vi.advanceTimersByTime(1000);
    expect(told).toEqual(["job ready undefined"]);
    bindings.sandboxes.observe(aClaimsSandbox());
    vi.advanceTimersByTime(60_000);
    expect(told).toHaveLength(1);
  });

  test("is no longer reported once the keeper stops", () => {
    start();
    bindings.claims.observe(aBoundClaim({ readyAt: READY_AT }));
    gone();
    end.abort();
    vi.advanceTimersByTime(60_000);
    expect(told).toEqual([]);
  });

  test("is forgotten", () => {
    start();
    bindings.claims.observe(aWaitingClaim());
    expect([...bindings.views()]).toHaveLength(1);
    bindings.claims.gone("uid-job");
    expect([...bindings.views()]).toEqual([]);
  });
});
