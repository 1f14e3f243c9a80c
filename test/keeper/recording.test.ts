/** Events and metrics put together: what two keepers, or one after another, tell of the same things. @module */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { NewEvent } from "../../packages/kube/event.ts";
import { createKeeperMetrics, type KeeperMetrics } from "../../packages/keeper/metrics.ts";
import { createRecording, type Recording } from "../../packages/keeper/observability/recording.ts";
import { aSandbox, NOW } from "../sandboxes.ts";
import { aBoundClaim, aClaimsSandbox, aWaitingClaim } from "./bound.ts";
import { aClaim, aCondition, aPool } from "./extensions.ts";
import { createFakeApi, type FakeApi, refusal } from "../kube/fakeapi.ts";
import { linesOf } from "./scrape.ts";

const EXPIRED = { status: { conditions: [aCondition("Ready", "False", "ClaimExpired")] } };
const TWO_PODS = { status: { conditions: [aCondition("Ready", "False", "MultiplePods")] } };

let server: FakeApi;
let lines: string[];
const terms: AbortController[] = [];
beforeEach(() => {
  vi.useFakeTimers({ now: NOW });
  server = createFakeApi();
  lines = [];
});
afterEach(() => {
  terms.splice(0).forEach((term) => term.abort());
  vi.useRealTimers();
});

interface Keeper extends Recording {
  metrics: KeeperMetrics;
  term: AbortController;
}

function aKeeper({ claimEvents = true, sandboxEvents = false, metrics = createKeeperMetrics() } = {}): Keeper {
  const term = new AbortController();
  terms.push(term);
  const log = (level: string, message: string) => lines.push(`${level} ${message}`);
  const options = { api: server, log, metrics, instance: "host-1", claimEvents, sandboxEvents, cloudEvents: undefined };
  return { ...createRecording(options, term.signal), metrics, term };
}

/** A keeper that has listed everything, and there was nothing. */
function started(options: Parameters<typeof aKeeper>[0] = {}): Keeper {
  const keeper = aKeeper(options);
  for (const kind of Object.values(keeper.handlers)) for (const handler of kind) handler.listed(new Set());
  return keeper;
}

type Shown = { kind: string; metadata: object };
const KINDS: Record<string, keyof Recording["handlers"]> = {
  Sandbox: "sandboxes",
  SandboxClaim: "sandboxclaims",
  SandboxWarmPool: "sandboxwarmpools",
};

function show(keeper: Keeper, ...objects: Shown[]): void {
  for (const object of objects) {
    for (const handler of keeper.handlers[KINDS[object.kind] ?? "sandboxes"]) handler.observe(object as never);
  }
}

/** Reasons of the Events that were created, and how many requests that took. */
async function recorded(): Promise<{ reasons: string[]; requests: number }> {
  await vi.advanceTimersByTimeAsync(10);
  const names = new Set(server.requests.map(({ body, path }) => `${path}/${(body as NewEvent).metadata.name}`));
  const reasons = [...names].map((path) => String(server.get(path)?.["reason"]));
  return { reasons, requests: server.requests.length };
}

describe("Events", () => {
  test("a claim that is served costs one request, even if the launch type comes late", async () => {
    const keeper = started();
    show(keeper, aWaitingClaim(), aBoundClaim({ readyAt: NOW.toISOString() }));
    expect(await recorded()).toEqual({ reasons: [], requests: 0 });
    show(keeper, aClaimsSandbox(), aBoundClaim({ readyAt: NOW.toISOString() }), aClaimsSandbox());
    expect(await recorded()).toEqual({ reasons: ["SandboxAdopted"], requests: 1 });
  });

  test("two keepers make one Event", async () => {
    for (const keeper of [started(), started()]) show(keeper, aBoundClaim(), aClaimsSandbox());
    expect(await recorded()).toEqual({ reasons: ["SandboxAdopted"], requests: 2 });
  });

  test("one that starts again tells of what is young, under the same names, and of nothing else", async () => {
    const old = "2026-11-21T11:29:59.000Z";
    const first = started();
    show(first, aBoundClaim(), aClaimsSandbox(), aSandbox(TWO_PODS));
    first.term.abort();
    expect((await recorded()).reasons).toEqual(["SandboxAdopted", "MultiplePods"]);
    show(aKeeper(), aBoundClaim(), aClaimsSandbox(), aSandbox(TWO_PODS));
    expect(await recorded()).toEqual({ reasons: ["SandboxAdopted", "MultiplePods"], requests: 4 });
    show(aKeeper(), aBoundClaim(), aClaimsSandbox({ assignedAt: old }));
    expect((await recorded()).requests).toBe(4);
  });

  test("a binding by a clock that lags is recorded nevertheless, if the keeper saw it", async () => {
    show(started(), aBoundClaim(), aClaimsSandbox({ assignedAt: "2026-11-21T11:00:00Z" }));
    expect((await recorded()).reasons).toEqual(["SandboxAdopted"]);
  });

  test("a claim that expires and is deleted has two", async () => {
    const keeper = started();
    show(keeper, aClaim(EXPIRED));
    keeper.reported("SandboxClaim", "deleted", aClaim().metadata, { propagation: "Foreground" });
    expect((await recorded()).reasons).toEqual(["ClaimExpired", "ClaimExpired"]);
    const notes = server.requests.map(({ body }) => (body as NewEvent).note);
    expect(notes).toEqual(["Claim expired", "Deleting Claim (ShutdownPolicy=DeleteForeground)"]);
  });

  test("only the deletion of claims is recorded", async () => {
    const keeper = started();
    keeper.reported("Sandbox", "deleted", aSandbox().metadata, {});
    keeper.reported("SandboxClaim", "annotated", aClaim().metadata, {});
    expect((await recorded()).requests).toBe(0);
  });

  test("the lives of Sandboxes are recorded, by two keepers and one after another under the same names", async () => {
    const lived = aSandbox({
      status: {
        conditions: [
          aCondition("Suspended", "False", "NotSuspended"),
          aCondition("PodScheduled", "True", "PodScheduled"),
          aCondition("Ready", "True", "DependenciesReady"),
        ],
      },
    });
    const reasons = ["SandboxPodCreated", "SandboxReady"];
    for (const keeper of [started({ sandboxEvents: true }), started({ sandboxEvents: true })]) show(keeper, lived);
    expect(await recorded()).toEqual({ reasons, requests: 4 });
    show(aKeeper({ sandboxEvents: true }), lived);
    expect(await recorded()).toEqual({ reasons, requests: 6 });
    show(started(), lived, aSandbox(TWO_PODS));
    expect((await recorded()).reasons, "without, only what is wrong").toEqual([...reasons, "MultiplePods"]);
  });

  test("claims can be silenced, and nothing else is", async () => {
    const keeper = started({ claimEvents: false });
    show(keeper, aClaim(EXPIRED), aBoundClaim(), aClaimsSandbox(), aSandbox(TWO_PODS));
    keeper.reported("SandboxClaim", "deleted", aClaim().metadata, { propagation: "Background" });
    expect((await recorded()).reasons).toEqual(["MultiplePods"]);
    expect(await linesOf(keeper.metrics, "agent_sandbox_claim_creation_total")).toHaveLength(1);
  });

  test("a term that is over sends nothing more", async () => {
    const keeper = started();
    server.intercept = () => refusal(503, "not yet");
    show(keeper, aSandbox(TWO_PODS));
    await recorded();
    keeper.term.abort();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(server.requests).toHaveLength(1);
  });
});

describe("metrics", () => {
  const served = (keeper: Keeper) => linesOf(keeper.metrics, "hookbox_pool_claims_total");
  const starts = { "agents.x-k8s.io/controller-first-observed-at": "2026-11-21T11:59:59.900Z" };
  const READY = { readyAt: NOW.toISOString(), annotations: starts };
  const latencies = (keeper: Keeper) => linesOf(keeper.metrics, "hookbox_claim_controller_startup_seconds_count");

  test("a claim is observed once, with its pool", async () => {
    const keeper = started();
    show(keeper, aPool(), aWaitingClaim(), aBoundClaim(READY), aClaimsSandbox(), aBoundClaim(READY));
    expect(await served(keeper)).toEqual([
      'hookbox_pool_claims_total{namespace="team-a",pool="pool",launch_type="warm"} 1',
    ]);
    expect(await latencies(keeper)).toEqual([expect.stringMatching(/ 1$/)]);
  });

  test("claims that the first list shows as served are not observed", async () => {
    const keeper = aKeeper();
    show(keeper, aPool(), aBoundClaim(READY), aClaimsSandbox());
    expect(await served(keeper)).toEqual([]);
    expect(await latencies(keeper)).toEqual([]);
  });

  test("gauges go with the term, histograms stay", async () => {
    const metrics = createKeeperMetrics();
    const keeper = started({ metrics });
    show(keeper, aPool(), aBoundClaim(READY), aClaimsSandbox());
    keeper.term.abort();
    expect(await linesOf(metrics, "hookbox_pool")).toEqual([]);
    expect(await linesOf(metrics, "agent_sandboxes")).toEqual([]);
    expect(await latencies(keeper)).toHaveLength(1);
  });
});

test("a term that ends late leaves the next one's gauges alone", async () => {
  const metrics = createKeeperMetrics();
  const first = started({ metrics });
  show(started({ metrics }), aPool());
  first.term.abort();
  expect(await linesOf(metrics, "hookbox_pool_replicas")).toHaveLength(1);
});

test("an event handler that fails is logged, and does not end the watch", () => {
  const keeper = started();
  expect(() => show(keeper, { kind: "SandboxWarmPool", metadata: {} })).not.toThrow();
  expect(lines).toEqual([expect.stringContaining("Cannot take note for pools' figures")]);
});
