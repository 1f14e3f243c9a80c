import { beforeEach, expect, test } from "vitest";
import { type ClaimView, type SandboxView, viewClaim, viewSandbox } from "../../packages/summary/views.ts";
import { createKeeperMetrics, type KeeperMetrics } from "../../packages/keeper/metrics.ts";
import { createPoolBook, type PoolBook } from "../../packages/keeper/observability/poolmetrics.ts";
import { aBoundClaim, aClaimsSandbox, aWaitingClaim } from "./bound.ts";
import { aPool } from "./extensions.ts";

let metrics: KeeperMetrics;
let book: PoolBook;
let claims: ClaimView[];
beforeEach(() => {
  metrics = createKeeperMetrics();
  book = createPoolBook();
  claims = [];
  metrics.inventory = { sorts: () => [], pools: () => book.figures(), claims: () => claims, policies: () => [] };
});

/** Samples of the pool metrics, in short: `replicas{pool} 3`. */
async function samples(): Promise<string[]> {
  const lines = (await metrics.text()).match(/^hookbox_(pool|claims_waiting).*$/gm) ?? [];
  return lines.map((line) =>
    line.replace(/^hookbox_(pool_)?/, "").replace('namespace="team-a",pool=', "").replaceAll('"', "")
  );
}

const serve = (launchType: string, claim: object = {}) =>
  book.served(viewClaim(aBoundClaim(claim)), viewSandbox(aClaimsSandbox({ launchType })) as SandboxView);

test("a pool shows what it has, what it should have, and what it lacks", async () => {
  book.observe(aPool({ spec: { replicas: 5 }, status: { replicas: 4, readyReplicas: 3 } }));
  expect(await samples()).toEqual([
    "replicas{pool} 4",
    "ready_replicas{pool} 3",
    "desired_replicas{pool} 5",
    "deficit{pool} 2",
    "claims_waiting{pool} 0",
  ]);
});

test("a pool without a status has nothing; one with too many lacks nothing", async () => {
  book.observe(aPool({ spec: { replicas: 2 } }));
  expect(await samples()).toEqual(expect.arrayContaining(["replicas{pool} 0", "deficit{pool} 2"]));
  book.observe(aPool({ spec: { replicas: 2 }, status: { replicas: 3, readyReplicas: 3 } }));
  expect(await samples()).toEqual(expect.arrayContaining(["replicas{pool} 3", "deficit{pool} 0"]));
});

test("claims that were served are counted by how, and give the hit ratio", async () => {
  serve("warm");
  book.observe(aPool());
  for (const launchType of ["warm", "warm", "cold"]) serve(launchType);
  expect(await samples()).toEqual(expect.arrayContaining([
    "hit_ratio{pool} 0.75",
    "claims_total{pool,launch_type=warm} 3",
    "claims_total{pool,launch_type=cold} 1",
  ]));
});

test("claims that wait are counted, for pools that do not exist, too", async () => {
  book.observe(aPool());
  const lost = { spec: { warmPoolRef: { name: "lost" } } };
  const leaving = { metadata: { deletionTimestamp: "2026-11-21T12:00:00Z" } };
  claims = [aWaitingClaim(), aWaitingClaim(), aWaitingClaim(lost), aWaitingClaim(leaving), aBoundClaim()].map(
    viewClaim,
  );
  const waiting = async () => (await samples()).filter((line) => line.startsWith("claims_waiting"));
  expect(await waiting()).toEqual(["claims_waiting{pool} 2", "claims_waiting{lost} 1"]);
  claims = [];
  expect(await waiting()).toEqual(["claims_waiting{pool} 0"]);
});

test("claims that wait for a pool whose name is longer than any are counted as one", async () => {
  const longest = (length: number) => ({ spec: { warmPoolRef: { name: "p".repeat(length) } } });
  claims = [longest(253), longest(254), longest(100_000)].map((over) => viewClaim(aWaitingClaim(over)));
  expect(await samples()).toEqual([`claims_waiting{${"p".repeat(253)}} 1`, "claims_waiting{__unknown__} 2"]);
});

test("once pools are listed nothing is kept of one that does not exist", async () => {
  serve("warm");
  book.listed?.(new Set());
  serve("warm");
  book.observe(aPool());
  const served = async () => (await samples()).filter((line) => /claims_total/.test(line));
  expect(await served()).toEqual([]);
  serve("cold");
  expect(await served()).toEqual(["claims_total{pool,launch_type=cold} 1"]);
});

test("a claim that lost its Sandbox waits again, whatever its annotation still says", async () => {
  const { metadata, ...rest } = aBoundClaim();
  claims = [viewClaim({ ...rest, metadata: { ...metadata, labels: {} }, status: {} })];
  expect(await samples()).toContain("claims_waiting{pool} 1");
});

test("a pool that is gone takes its series along, and a new one of its name begins at nothing", async () => {
  book.observe(aPool());
  serve("warm");
  book.gone("uid-pool");
  expect(await samples()).toEqual([]);
  book.observe(aPool({ metadata: { uid: "uid-new" } }));
  expect((await samples()).filter((line) => /claims_total|hit_ratio/.test(line))).toEqual([]);
});

test("where nobody leads there are no values", async () => {
  book.observe(aPool());
  metrics.inventory = undefined;
  expect(await samples()).toEqual([]);
});
