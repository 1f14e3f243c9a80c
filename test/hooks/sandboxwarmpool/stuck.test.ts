/** Members that cannot be deleted: what Progressing says, as long as they are seen. @module */
import { expect, test } from "vitest";
import type { SandboxWarmPool } from "../../../packages/api/sandboxwarmpool.ts";
import { findCondition } from "../../../packages/api/objects/conditions.ts";
import { syncPool, type World } from "../../poolcalls.ts";
import { aMember, aPool } from "../../pools.ts";

const STUCK = 'cannot delete Sandbox "warm-2": denied request: change freeze';

/** A pool in which the keeper has found a member that cannot be deleted. */
function stuckPool(replicas: number, type: "OnReplenish" | "Recreate" = "OnReplenish"): SandboxWarmPool {
  const problems = [{ kind: "Sandbox", name: "warm-2", state: "stuck", message: STUCK }];
  const annotations = { "agents.x-k8s.io/unresolved": JSON.stringify({ generation: 1, problems }) };
  return aPool({ spec: { replicas, updateStrategy: { type } }, metadata: { annotations } });
}

interface Case extends World {
  name: string;
  want: [string, string, string];
}

const cases: Case[] = [
  {
    name: "a member that cannot be deleted, though enough are Ready",
    pool: stuckPool(1),
    sandboxes: [aMember(1), aMember(2, { metadata: { labels: { "agents.x-k8s.io/draining": "surplus" } } })],
    want: ["False", "ReconcilerError", `1 of 1 sandboxes are Ready. Error seen: ${STUCK}`],
  },
  {
    name: "a member that cannot be marked",
    pool: stuckPool(1),
    sandboxes: [aMember(1), aMember(2)],
    want: ["False", "ReconcilerError", `2 of 1 sandboxes are Ready. Error seen: ${STUCK}`],
  },
  {
    name: "one that is unlike the template and cannot be marked, in a full pool",
    pool: stuckPool(1, "Recreate"),
    sandboxes: [aMember(2, { metadata: { labels: { "agents.x-k8s.io/sandbox-template-ref-hash": "ffffffff" } } })],
    want: ["False", "ReconcilerError", `1 of 1 sandboxes are Ready. Error seen: ${STUCK}`],
  },
  {
    name: "one that could not be deleted, and is gone",
    pool: stuckPool(1),
    sandboxes: [aMember(1)],
    want: ["True", "Full", "1 of 1 sandboxes are Ready"],
  },
];

test.for(cases)("$name", ({ want, ...world }) => {
  const { status, reason, message } = findCondition(syncPool(world).status?.conditions, "Progressing") ?? {};
  expect([status, reason, message]).toEqual(want);
});
