/** The hook as a server mounts it: what it asks to see, and what the guard lets pass. @module */
import { expect, test } from "vitest";
import { sandboxWarmPoolHook } from "../../../hooks/sandboxwarmpool/hook.ts";
import { aPoolRequest, CONFIG } from "../../poolcalls.ts";
import { aMember, aPool } from "../../pools.ts";
import { NOW } from "../../sandboxes.ts";

test("it asks for its template and the policy of that by name, and for nothing elsewhere", () => {
  expect(sandboxWarmPoolHook(CONFIG).customize?.({ controller: {}, parent: aPool() })).toEqual({
    relatedResources: [{
      apiVersion: "extensions.agents.x-k8s.io/v1beta1",
      resource: "sandboxtemplates",
      namespace: "team-a",
      names: ["python"],
    }, {
      apiVersion: "networking.k8s.io/v1",
      resource: "networkpolicies",
      namespace: "team-a",
      names: ["python-network-policy"],
    }],
  });
});

test("a whole pool may go at once, if it is marked: the guard hears why, Metacontroller does not", () => {
  const labels = { "agents.x-k8s.io/draining": "surplus" };
  const sandboxes = [1, 2, 3].map((number) => aMember(number, { metadata: { labels } }));
  const outcome = sandboxWarmPoolHook(CONFIG).sync(aPoolRequest({ sandboxes }), NOW);
  expect(Object.keys("answer" in outcome ? outcome.answer : outcome).sort()).toEqual([
    "children",
    "resyncAfterSeconds",
    "status",
  ]);
});

test("a hook that has been asked before answers as a new one does, byte for byte", () => {
  const [old, fresh] = [sandboxWarmPoolHook(CONFIG), sandboxWarmPoolHook(CONFIG)];
  const answer = (hook: typeof old, sandboxes = [aMember(1)]) =>
    JSON.stringify(hook.sync(aPoolRequest({ sandboxes }), NOW));
  answer(old, []);
  answer(old, [aMember(2), aMember(3)]);
  expect(answer(old)).toBe(answer(fresh));
});

test.for(
  [[0, 700], [25, 700], [50, 1400], [125, 3500], [1000, 3500]] as const,
)("syncs of a pool of %i members are %i ms apart where the flag says 700", ([count, intervalMs]) => {
  const members = Object.fromEntries(Array.from({ length: count }, (_, index) => [`m-${index}`, {}]));
  const request = { parent: { metadata: { uid: "p" } }, children: { "Sandbox.agents.x-k8s.io/v1beta1": members } };
  expect(sandboxWarmPoolHook({ ...CONFIG, poolIntervalMs: 700 }).spacing?.(request)).toEqual({ key: "p", intervalMs });
});

test("a sync is not held up if claims may wait for members that it counts", () => {
  const spacing = (status: Record<string, unknown>) =>
    sandboxWarmPoolHook(CONFIG).spacing?.({ parent: { metadata: { uid: "p" }, status } });
  expect(spacing({ arrivedSequence: 7, observedSequence: 3 })).toBeUndefined();
  expect(spacing({ arrivedSequence: 7, observedSequence: 7 })).toBeDefined();
  expect(spacing({ sequence: 9 }), "the status of an earlier version").toBeDefined();
  expect(spacing({ arrivedSequence: "x" })).toBeDefined();
});
