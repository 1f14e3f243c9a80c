/** The gauge of templates whose NetworkPolicy is not in force. */
import { expect, test } from "vitest";
import { createKeeperMetrics } from "../../packages/keeper/metrics.ts";
import { createPolicyBook } from "../../packages/keeper/observability/policymetrics.ts";
import { aTemplate } from "../templates.ts";

test("a template is counted for as long as the keeper's word is on it, and while this process leads", async () => {
  const metrics = createKeeperMetrics();
  const book = createPolicyBook();
  const inventory = { sorts: () => [], pools: () => [], claims: () => [], policies: () => book.faults() };
  const samples = async () => (await metrics.text()).match(/^hookbox_template_network_policy_missing\{.*$/gm) ?? [];
  const problems = [{ kind: "NetworkPolicy", name: "n", state: "refused", message: "exceeded quota" }];
  const annotations = { "agents.x-k8s.io/unresolved": JSON.stringify({ generation: 1, problems }) };
  const counted = ['hookbox_template_network_policy_missing{namespace="team-a",template="python",state="refused"} 1'];
  book.observe(aTemplate({ metadata: { annotations } }));
  expect(await samples()).toEqual([]);
  metrics.inventory = inventory;
  expect(await samples()).toEqual(counted);
  book.observe(aTemplate());
  expect(await samples()).toEqual([]);
  book.observe(aTemplate({ metadata: { annotations } }));
  book.gone(aTemplate().metadata.uid ?? "");
  expect(await samples()).toEqual([]);
});
