/** The simulation against the real hooks: the same claims, on a cluster in memory, with pools of several sizes. @module */
import { expect, test } from "vitest";
import { dueTimes } from "../../../packages/cli/pool/simulate.ts";
import { poolSimulation } from "../../../packages/cli/pool/study.ts";
import { poolStatus } from "../../../packages/cli/pool/status.ts";
import { createTestCluster } from "../../../packages/testing/mod.ts";

const EXTENSIONS = "extensions.agents.x-k8s.io/v1beta1";
const START_SECONDS = 6;

const CLAIMS = 100;

test.for([2, 5, 8])(
  "a pool of %i serves as many warm as simulated, within two points",
  async (replicas) => {
    await using cluster = await createTestCluster({ pods: { startMs: START_SECONDS * 1000, readyMs: 0 } });
    const { api, namespace } = cluster;
    await cluster.apply(
      {
        apiVersion: EXTENSIONS,
        kind: "SandboxTemplate",
        metadata: { name: "python" },
        spec: { podTemplate: { spec: { containers: [{ name: "main", image: "python" }] } } },
      },
      {
        apiVersion: EXTENSIONS,
        kind: "SandboxWarmPool",
        metadata: { name: "warm" },
        spec: { replicas, sandboxTemplateRef: { name: "python" } },
      },
    );
    await cluster.clock.advance(30_000);
    let at = 0;
    for (const [index, due] of dueTimes(CLAIMS, { kind: "poisson", perSecond: 1, seed: 3 }).entries()) {
      await cluster.clock.advance(due - at);
      at = due;
      const metadata = { name: `claim-${index}` };
      await cluster.apply({
        apiVersion: EXTENSIONS,
        kind: "SandboxClaim",
        metadata,
        spec: { warmPoolRef: { name: "warm" } },
      });
    }
    await cluster.clock.advance(60_000);
    const now = new Date(cluster.clock.now());
    const [row] = await poolStatus(api, namespace, "warm", now);
    expect(row?.served).toMatchObject({ unknown: 0 });
    expect((row?.served.warm ?? 0) + (row?.served.cold ?? 0)).toBe(CLAIMS);
    const { outcomes, refill } = await poolSimulation(api, { namespace, name: "warm" });
    expect(refill.measured).toBeGreaterThan(0);
    const simulated = outcomes.find((outcome) => outcome.replicas === replicas)?.hitRate ?? NaN;
    expect(simulated).toBeGreaterThan(0);
    expect(Math.abs(simulated - (row?.hitRate ?? NaN))).toBeLessThanOrEqual(0.02);
  },
);
