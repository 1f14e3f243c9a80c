/** Seeded faults: a recording of real traffic finds each of them, and nothing in the version that it was made with. @module */
import { beforeAll, expect, test } from "vitest";
import type { Exchange } from "../../../packages/webhook/exchange.ts";
import { type Change } from "../../../packages/cli/replay/compare.ts";
import { replay } from "../../../packages/cli/commands/replay.ts";
import { mutatedHook, type Mutation } from "./mutated.ts";
import { recordedIn, SETTINGS } from "./recorded.ts";
import { playTraffic } from "./traffic.ts";

const exchanges: Exchange[] = [];
beforeAll(() => playTraffic((exchange) => exchanges.push(exchange)));

test("the version that was recorded decides the same", async () => {
  const { requests, differing, skipped, kinds } = await replay({ paths: [recordedIn(exchanges, SETTINGS)] });
  expect(Object.keys(requests).sort()).toEqual(["sandbox", "sandboxclaim", "sandboxtemplate", "sandboxwarmpool"]);
  expect(Object.values(requests).reduce((sum, count) => sum + count)).toBe(exchanges.length);
  expect(exchanges.length).toBeGreaterThan(200);
  expect({ differing, skipped, kinds }).toEqual({ differing: 0, skipped: {}, kinds: [] });
});

const MUTATIONS: (Mutation & { name: string; want: Partial<Change> })[] = [
  {
    name: "another field in new Pods, and the guard sees it",
    hook: "sandbox",
    file: "pod.ts",
    from: "spec: podSpec(sandbox) }",
    to: "spec: { ...podSpec(sandbox), hostNetwork: true } }",
    want: { effect: "answers", after: expect.stringMatching(/^429 .*spec\.hostNetwork/) },
  },
  {
    name: "another field in new Pods that the hook declares",
    hook: "sandbox",
    file: "pod.ts",
    from: "spec: podSpec(sandbox) }",
    to: "spec: { ...podSpec(sandbox), hostNetwork: true } }",
    also: { file: "podrules.ts", from: "=> boolean>> = {", to: "=> boolean>> = { hostNetwork: () => true," },
    want: { effect: "changes", child: expect.objectContaining({ kind: "Pod" }), path: "spec.hostNetwork", after: true },
  },
  {
    name: "a suspended Sandbox keeps its Pod",
    hook: "sandbox",
    file: "children.ts",
    from: "return { children: [], deletions: reasons(view.pods, SUSPENDED) };",
    to: "return { children: view.pods.map(unchanged), deletions: {} };",
    want: { effect: "keeps", child: expect.objectContaining({ kind: "Pod" }) },
  },
  {
    name: "another reason",
    hook: "sandbox",
    file: "readiness.ts",
    from: '"DependenciesReady", `Pod',
    to: '"AllFine", `Pod',
    want: {
      effect: "changes",
      path: "status.conditions[Ready].reason",
      before: "DependenciesReady",
      after: "AllFine",
    },
  },
  {
    name: "a pool fills slower",
    hook: "sandboxwarmpool",
    file: "refill.ts",
    from: "Math.min(deficit, most, config",
    to: "Math.min(deficit, 1, config",
    want: { effect: "omits", child: expect.objectContaining({ kind: "Sandbox" }) },
  },
  {
    name: "a claim forgets its Sandbox, and the guard sees it",
    hook: "sandboxclaim",
    file: "sync.ts",
    from: "attachments: [desired],",
    to: "attachments: [],",
    want: { effect: "answers", after: expect.stringContaining("429 1 of 1 children") },
  },
  {
    name: "an exception",
    hook: "sandboxtemplate",
    file: "sync.ts",
    from: "const template = observed.parent;",
    to: 'const template = observed.parent;\n  if (template) throw new RangeError("broken");',
    want: { effect: "answers", after: expect.stringContaining("500 Cannot answer: RangeError") },
  },
];

test.for(MUTATIONS)("found: $name", async ({ want, ...mutation }) => {
  const hook = mutatedHook(mutation);
  const summary = await replay({ paths: [recordedIn(exchanges, SETTINGS)], hooks: [hook] });
  expect(Object.keys(summary.requests)).toEqual([mutation.hook]);
  expect(summary.differing).toBeGreaterThan(0);
  const changes = summary.kinds.flatMap(({ example }) => example.changes);
  expect(changes).toContainEqual(expect.objectContaining(want));
});
