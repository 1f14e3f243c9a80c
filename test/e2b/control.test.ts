/** E2B's published SDK against the control API, on a cluster in memory. @module */
import { Sandbox } from "e2b";
import { expect, test } from "vitest";
import { startE2B } from "./api.ts";

test("creates, finds, lists, extends and kills a sandbox, which is a claim", async () => {
  const { options, cluster } = await startE2B();
  const sandbox = await Sandbox.create("base", { ...options, metadata: { "a b": "c&d=é+" }, timeoutMs: 60_000 });
  expect(sandbox.sandboxId).toMatch(/^[a-z][0-9a-z]{19}$/);
  const claim = await cluster.get("SandboxClaim", sandbox.sandboxId, "team-a");
  expect(claim?.metadata.labels).toMatchObject({ "e2b.agents.x-k8s.io/sandbox": "true" });
  const info = await Sandbox.getInfo(sandbox.sandboxId, options);
  expect(info).toMatchObject({ templateId: "python", name: "base", state: "running", cpuCount: 2, memoryMB: 1024 });
  expect(info.metadata).toEqual({ "a b": "c&d=é+" });
  expect(info.endAt.getTime() - info.startedAt.getTime()).toBeLessThanOrEqual(61_000);
  const found = await Sandbox.list({ ...options, query: { metadata: { "a b": "c&d=é+" } } }).nextItems();
  expect(found.map(({ sandboxId }) => sandboxId)).toEqual([sandbox.sandboxId]);
  const none = await Sandbox.list({ ...options, query: { metadata: { "a b": "c" } } }).nextItems();
  expect(none).toEqual([]);
  await Sandbox.setTimeout(sandbox.sandboxId, 600_000, options);
  const later = await Sandbox.getInfo(sandbox.sandboxId, options);
  expect(later.endAt.getTime() - info.endAt.getTime()).toBeGreaterThan(500_000);
  expect(await Sandbox.kill(sandbox.sandboxId, options)).toBe(true);
  expect(await Sandbox.kill(sandbox.sandboxId, options)).toBe(false);
});
