/** A pool whose template's NetworkPolicy is not in force: no member starts, and the pool reports why. */
import { expect, test } from "vitest";
import { sandboxWarmPoolHook } from "../../../hooks/sandboxwarmpool/hook.ts";
import { syncSandboxWarmPool } from "../../../hooks/sandboxwarmpool/sync.ts";
import { aPool } from "../../pools.ts";
import { aPoolRequest, CONFIG, newNames, syncPool, type World } from "../../poolcalls.ts";
import { NOW } from "../../sandboxes.ts";
import { aPolicy, aTemplate } from "../../templates.ts";

const pool = aPool({ spec: { replicas: 2 } });
const conditionsOf = ({ status }: ReturnType<typeof syncPool>) =>
  Object.fromEntries((status.conditions ?? []).map(({ type, ...rest }) => [type, rest]));

test.for(
  [
    ["missing", null, "NetworkPolicyMissing", "does not exist"],
    ["somebody else's", aPolicy({ metadata: { ownerReferences: [] } }), "NetworkPolicyNotOwned", "not controlled by"],
    [
      "outdated",
      aPolicy({ metadata: { annotations: { "agents.x-k8s.io/template-generation": "uid-python/0" } } }),
      "NetworkPolicyOutdated",
      "rules of generation 1",
    ],
  ] as const,
)("whose policy is %s makes nothing, and says so", ([, policy, reason, words]) => {
  const answer = syncPool({ pool, policy });
  expect(newNames(answer)).toEqual([]);
  expect(conditionsOf(answer)).toMatchObject({
    Progressing: { status: "False", reason, message: expect.stringContaining(words) },
    NetworkPolicy: { status: "False", reason, message: expect.stringContaining("no sandbox of the template starts") },
  });
});

const secondsAgo = (seconds: number) => new Date(NOW.getTime() - seconds * 1000).toISOString();
const written = (seconds: number) => ({
  managedFields: [{ manager: "kubectl", time: secondsAgo(seconds), fieldsV1: { "f:spec": {} } }],
});
const outdated = aPolicy({ metadata: { annotations: { "agents.x-k8s.io/template-generation": "uid-python/0" } } });

test.for(
  [
    ["a new template", { creationTimestamp: secondsAgo(3) }, null],
    ["a template that has just changed", { creationTimestamp: secondsAgo(3600), ...written(3) }, outdated],
  ] as const,
)("whose policy is not in force yet makes nothing, and does not say so of %s: it is due in ten seconds", (
  [, metadata, policy],
) => {
  const answer = syncPool({ pool, policy, template: aTemplate({ metadata }) });
  expect(newNames(answer)).toEqual([]);
  expect(conditionsOf(answer)).toMatchObject({ Progressing: { status: "True", reason: "Filling" } });
  expect(conditionsOf(answer)["NetworkPolicy"]).toBeUndefined();
  expect(answer.resyncAfterSeconds, "looks again then").toBeLessThanOrEqual(7);
});

test.for(
  [
    ["is older", { creationTimestamp: secondsAgo(11) }],
    ["has been the same for longer", { creationTimestamp: secondsAgo(3600), ...written(11) }],
    ["comes from a clock that is ahead", { creationTimestamp: secondsAgo(-3600) }],
  ] as const,
)("whose policy is missing says so if the template %s", ([, metadata]) => {
  const answer = syncPool({ pool, policy: null, template: aTemplate({ metadata }) });
  expect(conditionsOf(answer)).toMatchObject({ Progressing: { reason: "NetworkPolicyMissing" } });
});

test("whose policy is missing makes members where that is allowed, and reports it nevertheless", () => {
  const answer = syncPool({ pool, policy: null }, { config: { templateNetworkPolicy: "optional" } });
  expect(newNames(answer)).toHaveLength(2);
  expect(conditionsOf(answer)).toMatchObject({
    Progressing: { reason: "Filling" },
    NetworkPolicy: { status: "False", message: expect.stringContaining("start without it") },
  });
});

test("that has all its members says that their policy is missing", () => {
  const answer = syncPool({ pool: aPool({ spec: { replicas: 0 } }), policy: null });
  expect(conditionsOf(answer)).toMatchObject({ Progressing: { reason: "Full" }, NetworkPolicy: { status: "False" } });
});

test("repeats what the keeper has found out", () => {
  const problems = [{ kind: "NetworkPolicy", name: "n", state: "refused", message: "exceeded quota: q" }];
  const annotations = { "agents.x-k8s.io/unresolved": JSON.stringify({ generation: 1, problems }) };
  const answer = syncPool({ pool, policy: null, template: aTemplate({ metadata: { annotations } }) });
  expect(conditionsOf(answer)["Progressing"]?.message).toBe("0 of 2 sandboxes are Ready. exceeded quota: q");
});

test.for(
  [
    ["in force", { policy: aPolicy() }],
    ["not shown yet, as after an update", {}],
    ["left to others", { policy: null, template: aTemplate({ spec: { networkPolicyManagement: "Unmanaged" } }) }],
  ] as const,
)("whose policy is %s makes members, and says nothing of it", ([, world]) => {
  const answer = syncPool({ pool, ...world });
  expect(newNames(answer)).toHaveLength(2);
  expect(conditionsOf(answer)["NetworkPolicy"]).toBeUndefined();
});

/** What the guard says of a hook that makes members whatever the policy is. */
function reckless(world: World, config = CONFIG): string {
  const hook = sandboxWarmPoolHook(
    config,
    (observed, now, given) => syncSandboxWarmPool(observed, now, { ...given, templateNetworkPolicy: "optional" }),
  );
  const outcome = hook.sync(aPoolRequest({ pool, ...world }), NOW);
  return "refusal" in outcome ? outcome.refusal.message : "passes";
}

const other = { podSelector: { matchLabels: { "agents.x-k8s.io/sandbox-template-ref-hash": "0fceff97", app: "x" } } };
test.for(
  [
    ["missing", null],
    ["being deleted", aPolicy({ metadata: { deletionTimestamp: "2026-11-21T11:00:00Z" } })],
    ["somebody else's", aPolicy({ metadata: { ownerReferences: [] } })],
    [
      "outdated",
      aPolicy({ metadata: { annotations: { "agents.x-k8s.io/template-generation": "uid-python/0" } } }),
    ],
    ["of fewer Pods", aPolicy({ spec: other })],
  ] as const,
)("whose policy is %s gets no member of a bad deploy either", ([, policy]) => {
  expect(reckless({ policy })).toBe(
    "2 new children are not what their parent asks for (a member without its NetworkPolicy)",
  );
  expect(reckless({ policy }, { ...CONFIG, templateNetworkPolicy: "optional" })).toBe("passes");
});

test.for(
  [
    ["in force", { policy: aPolicy() }],
    ["not shown yet", {}],
    ["left to others", { policy: null, template: aTemplate({ spec: { networkPolicyManagement: "Unmanaged" } }) }],
  ] as const,
)("whose policy is %s may get members", ([, world]) => expect(reckless(world)).toBe("passes"));
