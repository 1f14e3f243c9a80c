/** What the keeper shows Prometheus of claims, pools and Sandboxes on a real API server. @module */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { freePorts } from "../../dev/cluster/ports.ts";
import { bind, giveSandbox, makeClaim, makePool } from "./keeper-claims.ts";
import { begin, down, end, listed, namespace, send, startKeeper, up } from "./keeper-world.ts";
import { until } from "./kubectl.ts";

beforeAll(up);
afterAll(down);
beforeEach(() => begin());
afterEach(end);

test("/metrics shows what claims, pools and Sandboxes there are, and how they were served", async () => {
  const [port = 0] = await freePorts(1);
  startKeeper("--no-leader-election", "--port", String(port));
  await listed();
  await makePool();
  await makeClaim("waits");
  const requested = new Date(Date.now() - 500).toISOString();
  const annotations = { "agents.x-k8s.io/client-first-requested-at": requested };
  const claim = await makeClaim("c", {}, { annotations, labels: { "agents.x-k8s.io/created-by": "python-client" } });
  await giveSandbox(claim, "p-1");
  await bind(claim, "p-1");
  const scrape = async () => await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const text = await until(scrape, (text) => text.includes("hookbox_client_claim_startup_seconds_count"));
  const inNamespace = text.split("\n").filter((line) => line.includes(`"${namespace}"`) && !line.includes("_bucket"));
  expect(inNamespace).toEqual(expect.arrayContaining([
    expect.stringMatching(/^agent_sandboxes\{.*ready_condition="true",.*owned_by="SandboxClaim",.*\} 1$/),
    expect.stringMatching(
      /^agent_sandbox_claim_creation_total\{.*sandbox_template="t",launch_type="warm",warmpool_name="p".*\} 1$/,
    ),
    `hookbox_pool_desired_replicas{namespace="${namespace}",pool="p"} 1`,
    `hookbox_pool_deficit{namespace="${namespace}",pool="p"} 1`,
    `hookbox_pool_hit_ratio{namespace="${namespace}",pool="p"} 1`,
    `hookbox_claims_waiting{namespace="${namespace}",pool="p"} 1`,
  ]));
  const sum = /^agent_sandbox_client_claim_startup_latency_ms_sum\{launch_type="warm",sandbox_template="t"\} (\d+)$/m;
  expect(Number(sum.exec(text)?.[1])).toBeGreaterThanOrEqual(500);
  await send("DELETE", "sandboxwarmpools", "p");
  await until(scrape, (text) => !text.includes("hookbox_pool_replicas{"));
  expect(await scrape()).not.toContain("hookbox_pool_claims_total{");
});
