import { beforeEach, describe, expect, test } from "vitest";
import { type SandboxView, viewClaim, viewSandbox } from "../../packages/summary/views.ts";
import { createKeeperMetrics, type KeeperMetrics } from "../../packages/keeper/metrics.ts";
import { MOST_SERIES } from "../../packages/keeper/observability/claimmetrics.ts";
import { aBoundClaim, aClaimsSandbox, type ClaimsSandbox } from "./bound.ts";
import { linesOf } from "./scrape.ts";

const PREFIX = "agents.x-k8s.io";
const READY_AT = "2026-11-21T12:00:00.000Z";
const BY_TEMPLATE = 'launch_type="warm",sandbox_template="python"';

let metrics: KeeperMetrics;
beforeEach(() => {
  metrics = createKeeperMetrics();
});
const view = (over: ClaimsSandbox = {}) => viewSandbox(aClaimsSandbox(over)) as SandboxView;
const lines = (name: string) => linesOf(metrics, name);

describe("at a claim's first Ready", () => {
  const STARTS = {
    [`${PREFIX}/webhook-first-observed-at`]: "2026-11-21T11:59:59.880123456Z",
    [`${PREFIX}/controller-first-observed-at`]: "2026-11-21T11:59:59.900Z",
    [`${PREFIX}/client-first-requested-at`]: "2026-11-21T12:59:58.800000+01:00",
  };

  test.for<[string, string, number]>([
    ["agent_sandbox_claim_startup_latency_ms", "hookbox_claim_startup_seconds", 120],
    ["agent_sandbox_claim_controller_startup_latency_ms", "hookbox_claim_controller_startup_seconds", 100],
    ["agent_sandbox_client_claim_startup_latency_ms", "hookbox_client_claim_startup_seconds", 1200],
  ])("%s and %s say how long it took", async ([ms, seconds, want]) => {
    metrics.claims.firstReady(viewClaim(aBoundClaim({ readyAt: READY_AT, annotations: STARTS })), view());
    const [sum, count] = [`_sum{${BY_TEMPLATE}}`, `_count{${BY_TEMPLATE}}`];
    expect(await lines(ms)).toEqual(expect.arrayContaining([`${ms}${sum} ${want}`, `${ms}${count} 1`]));
    expect(await lines(seconds)).toEqual(
      expect.arrayContaining([`${seconds}${sum} ${want / 1000}`, `${seconds}${count} 1`]),
    );
  });

  test("the Sandbox's creation counts, too", async () => {
    metrics.claims.firstReady(viewClaim(aBoundClaim({ readyAt: READY_AT })), view());
    const labels = `{namespace="team-a",${BY_TEMPLATE}}`;
    expect(await lines("agent_sandbox_creation_latency_ms_sum")).toEqual([
      `agent_sandbox_creation_latency_ms_sum${labels} 30000`,
    ]);
    expect(await lines("hookbox_sandbox_creation_seconds_sum")).toEqual([
      `hookbox_sandbox_creation_seconds_sum${labels} 30`,
    ]);
  });

  test("nothing is observed without a start, or with one that is ahead", async () => {
    const annotations = { [`${PREFIX}/client-first-requested-at`]: "2026-11-21T12:00:01Z" };
    const early = view({ readyAt: "2026-11-21T11:58:00Z" });
    metrics.claims.firstReady(viewClaim(aBoundClaim({ readyAt: READY_AT, annotations })), early);
    const all = (await metrics.text()).match(/^(agent|hookbox)_\w*(latency|seconds)\w*\{.*$/gm);
    expect(all).toBeNull();
  });

  test("a Sandbox that nobody saw is unknown", async () => {
    metrics.claims.firstReady(viewClaim(aBoundClaim({ readyAt: READY_AT, annotations: STARTS })), undefined);
    expect(await lines("agent_sandbox_claim_startup_latency_ms_count")).toEqual([
      'agent_sandbox_claim_startup_latency_ms_count{launch_type="unknown",sandbox_template="__unknown__"} 1',
    ]);
  });

  test("the buckets are the contract's, and from 5 ms to 10 minutes", async () => {
    metrics.claims.firstReady(viewClaim(aBoundClaim({ readyAt: READY_AT, annotations: STARTS })), view());
    const edges = async (name: string) => {
      const bounds = (await lines(`${name}_bucket`)).map((line) => /le="([^"]+)"/.exec(line)?.[1]);
      return bounds.slice(0, -1).map(Number);
    };
    const startup = [100, 250, 500, 750, 1000, 1250, 1500, 2000, 2500, 5000, 10000, 30000, 60000, 120000, 240000];
    const creation = [50, 100, 250, 500, 1000, 2500, 5000, 10000, 30000, 60000, 120000, 240000, 300000, 600000];
    expect(await edges("agent_sandbox_claim_startup_latency_ms")).toEqual(startup);
    expect(await edges("agent_sandbox_creation_latency_ms")).toEqual(creation);
    const seconds = await edges("hookbox_claim_startup_seconds");
    expect([seconds[0], seconds.at(-1)]).toEqual([0.005, 600]);
  });
});

describe("at the binding, agent_sandbox_claim_creation_total", () => {
  const total = async (sandbox: ClaimsSandbox, metadata: object = {}) => {
    metrics.claims.bound(viewClaim(aBoundClaim({ metadata })), view(sandbox));
    const [line = ""] = await lines("agent_sandbox_claim_creation_total");
    return line.replace(/^[a-z_]+\{|\} 1$/g, "").replaceAll('"', "").split(",");
  };

  test("says what was given, from where, to whom", async () => {
    const labels = { [`${PREFIX}/created-by`]: "python-client" };
    expect(await total({}, { labels })).toEqual([
      "namespace=team-a",
      "sandbox_template=python",
      "launch_type=warm",
      "warmpool_name=pool",
      "pod_condition=ready",
      "created_by=python-client",
    ]);
  });

  test.for<[string, ClaimsSandbox, string]>([
    ["Ready before", { readyAt: "2026-11-21T11:59:59Z" }, "ready"],
    ["Ready only after", { readyAt: "2026-11-21T12:00:00Z" }, "not_ready"],
    ["not Ready", { readyAt: undefined }, "not_ready"],
    ["made for the claim, Ready within the same second", { launchType: "cold" }, "not_ready"],
    ["bound nobody knows when", { assignedAt: undefined }, "ready"],
  ])("%s: %s", async ([, sandbox, want]) => {
    expect(await total(sandbox)).toContain(`pod_condition=${want}`);
  });

  test.for([["go-client", "go-client"], ["me", "unknown"], [undefined, "unknown"]])(
    "created by %s is %s",
    async ([creator, want]) => {
      const labels = creator === undefined ? {} : { [`${PREFIX}/created-by`]: creator };
      expect(await total({}, { labels })).toContain(`created_by=${want}`);
    },
  );

  test("a template that nobody knows has the contract's name", async () => {
    expect(await total({ template: undefined })).toContain("sandbox_template=__unknown__");
  });

  test("names that are longer than any are not known", async () => {
    metrics.claims.bound(
      { ...viewClaim(aBoundClaim()), pool: "p".repeat(254) },
      view({ template: "t".repeat(254) }),
    );
    const [line] = await lines("agent_sandbox_claim_creation_total");
    expect(line).toContain('sandbox_template="__unknown__"');
    expect(line).toContain('warmpool_name="__unknown__"');
  });
});

test("agent_sandbox_build_info is 1, with the contract's labels", async () => {
  const [line = "", ...rest] = await lines("agent_sandbox_build_info");
  expect(rest).toEqual([]);
  expect([...line.matchAll(/(\w+)="[^"]+"/g)].map(([, label]) => label)).toEqual([
    "git_version",
    "git_commit",
    "build_date",
    "go_version",
    "compiler",
    "platform",
  ]);
  expect(line).toMatch(/git_version="v\d+\.\d+\.\d+".*\} 1$/);
});

test("what namespaces, templates and pools there were in a year is forgotten, but for what is still used", async () => {
  const many = MOST_SERIES + 50;
  for (let n = 0; n < many; n++) {
    const claim = viewClaim(aBoundClaim({ readyAt: READY_AT }));
    const named = (name: string) => ({ ...claim, regarding: { ...claim.regarding, namespace: name } });
    for (const namespace of [`ci-${n}`, "stays"]) {
      metrics.claims.bound(named(namespace), view());
      metrics.claims.firstReady(named(namespace), view());
    }
  }
  const names = ["agent_sandbox_claim_creation_total", "hookbox_sandbox_creation_seconds_count"];
  for (const name of names) {
    const all = await lines(name);
    expect(all).toHaveLength(MOST_SERIES);
    expect(all.find((line) => line.includes('"stays"'))).toMatch(new RegExp(` ${many}$`));
    expect(all.some((line) => line.includes(`"ci-${many - 1}"`))).toBe(true);
    expect(all.some((line) => line.includes('"ci-0"'))).toBe(false);
  }
});

test("templates that come and go in one namespace cost another's series nothing", async () => {
  const claimIn = (namespace: string) => {
    const claim = viewClaim(aBoundClaim({ readyAt: READY_AT }));
    return { ...claim, regarding: { ...claim.regarding, namespace } };
  };
  const serve = (namespace: string, template: string) => {
    metrics.claims.bound(claimIn(namespace), view({ template }));
    metrics.claims.firstReady(claimIn(namespace), view({ template }));
  };
  serve("calm", "python");
  for (let n = 0; n < MOST_SERIES + 50; n++) serve("busy", `t-${n}`);
  for (const name of ["agent_sandbox_claim_creation_total", "hookbox_sandbox_creation_seconds_count"]) {
    const all = await lines(name);
    expect(all).toHaveLength(MOST_SERIES);
    expect(all.filter((line) => line.includes('"calm"')), name).toHaveLength(1);
    expect(all.some((line) => line.includes('"t-0"')), name).toBe(false);
    expect(all.some((line) => line.includes(`"t-${MOST_SERIES + 49}"`)), name).toBe(true);
  }
});
