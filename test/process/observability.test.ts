import { expect, test } from "vitest";
import { countAction, createKeeperMetrics } from "../../packages/keeper/metrics.ts";
import { createHealthApp } from "../../packages/process/observability.ts";

test("createHealthApp() answers probes, and Prometheus", async () => {
  const metrics = createKeeperMetrics();
  let isReady = false;
  const app = createHealthApp(() => isReady, metrics);
  expect((await app.request("/healthz")).status).toBe(200);
  expect((await app.request("/readyz")).status).toBe(503);
  isReady = true;
  expect((await app.request("/readyz")).status).toBe(200);
  countAction(metrics, "annotation removed");
  const answer = await app.request("/metrics");
  expect(answer.headers.get("content-type")).toContain("text/plain");
  expect(await answer.text()).toContain('hookbox_keeper_actions_total{action="annotation_removed"} 1');
});
