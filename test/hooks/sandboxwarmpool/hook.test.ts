/** The hook as a server mounts it: what it asks to see, what the guard lets pass, what it remembers. @module */
import { expect, test } from "vitest";
import { sandboxWarmPoolHook } from "../../../hooks/sandboxwarmpool/hook.ts";
import { aPoolRequest, CONFIG } from "../../poolcalls.ts";
import { aClaim, aMember, aPool } from "../../pools.ts";
import { NOW } from "../../sandboxes.ts";

const claimsWith = (label: object) => ({
  apiVersion: "extensions.agents.x-k8s.io/v1beta1",
  resource: "sandboxclaims",
  namespace: "team-a",
  labelSelector: {
    matchExpressions: [
      { key: "agents.x-k8s.io/claim-bound", operator: "DoesNotExist" },
      { key: "agents.x-k8s.io/warm-pool-ref", ...label },
    ],
  },
});
const asked = (parent: ReturnType<typeof aPool>) => {
  const answer = sandboxWarmPoolHook(CONFIG).customize?.({ controller: {}, parent });
  return answer && "relatedResources" in answer ? answer.relatedResources : answer;
};

test("it asks for its template by name, for unbound claims that are its own or nobody's, and for nothing elsewhere", () => {
  expect(asked(aPool())).toEqual([
    {
      apiVersion: "extensions.agents.x-k8s.io/v1beta1",
      resource: "sandboxtemplates",
      namespace: "team-a",
      names: ["python"],
    },
    claimsWith({ operator: "DoesNotExist" }),
    claimsWith({ operator: "In", values: ["warm"] }),
  ]);
});

test("a pool whose name is too long for a label asks for unlabelled claims alone: Metacontroller refuses such a selector", () => {
  const named = (length: number) => asked(aPool({ metadata: { name: "p".repeat(length) } }));
  expect(named(63)).toHaveLength(3);
  expect(named(64)).toEqual(expect.arrayContaining([claimsWith({ operator: "DoesNotExist" })]));
  expect(named(64)).toHaveLength(2);
});

test("a whole pool may go at once, if it is marked: the guard hears why, Metacontroller does not", () => {
  const labels = { "agents.x-k8s.io/draining": "surplus" };
  const sandboxes = [1, 2, 3].map((number) => aMember(number, { metadata: { labels } }));
  const outcome = sandboxWarmPoolHook(CONFIG).sync(aPoolRequest({ sandboxes }), NOW, 0);
  expect(Object.keys("answer" in outcome ? outcome.answer : outcome).sort()).toEqual([
    "children",
    "resyncAfterSeconds",
    "status",
  ]);
});

test("each hook has a memory of its own, and keeps it from call to call", () => {
  const [hook, another] = [sandboxWarmPoolHook(CONFIG), sandboxWarmPoolHook(CONFIG)];
  const first = aPoolRequest({ sandboxes: [aMember(1)], claims: [aClaim("c")] });
  const second = aPoolRequest({ sandboxes: [aMember(2)], claims: [aClaim("c")] });
  const handed = (mounted: typeof hook) => JSON.stringify(mounted.sync(second, NOW, 0)).includes("assigned-at");
  hook.sync(first, NOW, 0);
  expect([handed(hook), handed(another)]).toEqual([false, true]);
});
