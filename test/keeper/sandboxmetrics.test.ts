import { beforeEach, describe, expect, test } from "vitest";
import { createKeeperMetrics, type KeeperMetrics } from "../../packages/keeper/metrics.ts";
import { type Census, createCensus, sortOf } from "../../packages/keeper/observability/sandboxmetrics.ts";
import { aSandbox } from "../sandboxes.ts";
import { aClaimsSandbox } from "./bound.ts";
import { aCondition } from "./extensions.ts";
import { linesOf } from "./scrape.ts";

const PREFIX = "agents.x-k8s.io";
const BARE = {
  namespace: "team-a",
  ready_condition: "false",
  expired: "false",
  launch_type: "cold",
  sandbox_template: "unknown",
  owned_by: "None",
  created_by: "unknown",
  operating_mode: "Running",
};
const owned = (kind: string) => ({
  metadata: { ownerReferences: [{ apiVersion: "v1", kind, name: "x", uid: "x", controller: true }] },
});

describe("sortOf()", () => {
  test.for<[string, object, object]>([
    ["a bare one without a status", {}, {}],
    ["a Ready one", { status: { conditions: [aCondition("Ready", "True", "DependenciesReady")] } }, {
      ready_condition: "true",
    }],
    ["an expired one", { status: { conditions: [aCondition("Ready", "False", "SandboxExpired")] } }, {
      expired: "true",
    }],
    ["a suspended one", { spec: { operatingMode: "Suspended" } }, { operating_mode: "Suspended" }],
    ["a pool's", owned("SandboxWarmPool"), { owned_by: "SandboxWarmPool", launch_type: "unknown" }],
    ["somebody else's", owned("Workspace"), {}],
    ["one made by a client", { metadata: { labels: { [`${PREFIX}/created-by`]: "go-client" } } }, {
      created_by: "go-client",
    }],
  ])("tells %s", ([, over, want]) => {
    expect(sortOf(aSandbox(over))).toEqual({ ...BARE, ...want });
  });

  test("does not know a template whose name is longer than any", () => {
    const templateOf = (template: string) => sortOf(aClaimsSandbox({ template })).sandbox_template;
    expect(templateOf("t".repeat(253))).toBe("t".repeat(253));
    expect(templateOf("t".repeat(254))).toBe("__unknown__");
  });

  test("tells a claim's, with template and launch type", () => {
    const want = { ready_condition: "true", launch_type: "warm", sandbox_template: "python", owned_by: "SandboxClaim" };
    expect(sortOf(aClaimsSandbox())).toEqual({ ...BARE, ...want });
  });
});

describe("agent_sandboxes", () => {
  let metrics: KeeperMetrics;
  let census: Census;
  beforeEach(() => {
    metrics = createKeeperMetrics();
    census = createCensus();
    metrics.inventory = { sorts: () => census.counts(), pools: () => [], claims: () => [], policies: () => [] };
  });
  const gauge = async () =>
    (await linesOf(metrics, "agent_sandboxes")).map((line) => line.replace(/,expired.*\}/, "}"));
  const aOne = (uid: string, status = "True") =>
    aSandbox({ metadata: { uid }, status: { conditions: [aCondition("Ready", status, "DependenciesReady")] } });
  const READY = 'agent_sandboxes{namespace="team-a",ready_condition="true"}';
  const NOT_READY = 'agent_sandboxes{namespace="team-a",ready_condition="false"}';

  test("counts each Sandbox once, as it is now", async () => {
    for (const uid of ["a", "b", "c", "a"]) census.observe(aOne(uid));
    expect(await gauge()).toEqual([`${READY} 3`]);
    census.observe(aOne("a", "False"));
    expect(await gauge()).toEqual([`${READY} 2`, `${NOT_READY} 1`]);
  });

  test("loses the series of a sort that there is no more", async () => {
    census.observe(aOne("a"));
    census.observe(aOne("b", "False"));
    census.gone("b");
    expect(await gauge()).toEqual([`${READY} 1`]);
    census.gone("a");
    expect(await gauge()).toEqual([]);
  });

  test("keeps nothing of what a Sandbox has been, however seldom it is asked", () => {
    const observe = (name: string, template: string) => census.observe(aClaimsSandbox({ name, template }));
    observe("a", "python");
    observe("b", "node");
    observe("a", "node");
    observe("a", "python");
    // Sorts come in the order in which they were met: one that was kept all the while would be the first still.
    expect([...census.counts()].map(({ sort }) => sort.sandbox_template)).toEqual(["node", "python"]);
  });

  test("has no values where nobody leads", async () => {
    census.observe(aOne("a"));
    metrics.inventory = undefined;
    expect(await gauge()).toEqual([]);
  });
});
