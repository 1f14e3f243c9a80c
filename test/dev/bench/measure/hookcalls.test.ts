/** @module */
import { expect, test } from "vitest";
import { hookUseBetween, hookUseOf, readSamples } from "../../../../dev/bench/measure/metrics.ts";
import { createHookMetrics } from "../../../../packages/webhook/telemetry.ts";

test("hookUseOf() reads what the hooks' own metrics say, by hook and endpoint", async () => {
  const metrics = createHookMetrics();
  metrics.bytes.inc({ hook: "sandbox", endpoint: "sync", direction: "in" }, 700);
  metrics.bytes.inc({ hook: "sandbox", endpoint: "sync", direction: "out" }, 70);
  metrics.duration.observe({ hook: "sandbox", endpoint: "sync" }, 0.25);
  metrics.duration.observe({ hook: "sandbox", endpoint: "sync" }, 0.5);
  metrics.duration.observe({ hook: "sandbox", endpoint: "customize" }, 1);
  const names = ["hookbox_hook_body_bytes_total", "hookbox_hook_request_duration_seconds_sum"];
  const samples = readSamples(await metrics.text(), [...names, "hookbox_hook_request_duration_seconds_count"]);
  expect(hookUseOf(samples)).toEqual([
    { hook: "sandbox/customize", calls: 1, requestBytes: 0, responseBytes: 0, seconds: 1 },
    { hook: "sandbox/sync", calls: 2, requestBytes: 700, responseBytes: 70, seconds: 0.75 },
  ]);
});

test("hookUseBetween() leaves out what was not called", () => {
  const use = (hook: string, calls: number) => ({
    hook,
    calls,
    requestBytes: calls * 10,
    responseBytes: 1,
    seconds: 2,
  });
  const between = hookUseBetween([use("a", 1), use("b", 3)], [use("a", 4), use("b", 3), use("c", 1)]);
  expect(between).toEqual([
    { hook: "a", calls: 3, requestBytes: 30, responseBytes: 0, seconds: 0 },
    { hook: "c", calls: 1, requestBytes: 10, responseBytes: 1, seconds: 2 },
  ]);
});
