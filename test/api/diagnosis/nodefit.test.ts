/** Which nodes would do for a Pod: requests, labels, taints. @module */
import { expect, test } from "vitest";
import { biggest, matchingNodes, requestOf, toleratedNodes } from "../../../packages/api/diagnosis/rules/scheduling.ts";

const node = (
  name: string,
  labels: Record<string, string> = {},
  taints: { key: string; value?: string; effect: string }[] = [],
) => ({
  metadata: { name, labels },
  spec: { taints },
  status: { allocatable: { cpu: name.length.toString() } },
});
const names = (nodes: { metadata: { name: string } }[]) => nodes.map(({ metadata }) => metadata.name).join(" ");
const required = (...matchExpressions: { key: string; operator: string; values?: string[] }[]) => ({
  affinity: {
    nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions }] } },
  },
});
const NODES = [node("a", { zone: "x", cores: "4" }), node("bb", { zone: "y", cores: "8" }), node("ccc")];

test.for(
  [
    ["nothing asked", {}, "a bb ccc"],
    ["nodeSelector", { nodeSelector: { zone: "x" } }, "a"],
    ["In", required({ key: "zone", operator: "In", values: ["x", "y"] }), "a bb"],
    ["NotIn", required({ key: "zone", operator: "NotIn", values: ["x"] }), "bb ccc"],
    ["Exists", required({ key: "zone", operator: "Exists" }), "a bb"],
    ["DoesNotExist", required({ key: "zone", operator: "DoesNotExist" }), "ccc"],
    ["Gt", required({ key: "cores", operator: "Gt", values: ["4"] }), "bb"],
    ["Lt", required({ key: "cores", operator: "Lt", values: ["8"] }), "a"],
    [
      "two in one term",
      required({ key: "zone", operator: "Exists" }, { key: "cores", operator: "Gt", values: ["4"] }),
      "bb",
    ],
    ["an operator of tomorrow", required({ key: "zone", operator: "Near", values: ["x"] }), "a bb ccc"],
  ] as const,
)("matchingNodes: %s", ([, spec, want]) => {
  expect(names(matchingNodes(spec as Parameters<typeof matchingNodes>[0], NODES))).toBe(want);
});

test.for(
  [
    ["none", [], false],
    ["by key and value", [{ key: "k", operator: "Equal", value: "v", effect: "NoSchedule" }], true],
    ["of another value", [{ key: "k", value: "w" }], false],
    ["Exists", [{ key: "k", operator: "Exists" }], true],
    ["everything", [{ operator: "Exists" }], true],
    ["of another effect", [{ key: "k", operator: "Exists", effect: "NoExecute" }], false],
  ] as const,
)("toleratedNodes: a toleration %s", ([, tolerations, want]) => {
  const tainted = node("t", {}, [{ key: "k", value: "v", effect: "NoSchedule" }]);
  expect(toleratedNodes({ tolerations: [...tolerations] }, [tainted]).length > 0).toBe(want);
});

test("a taint that only prefers keeps nobody away", () => {
  expect(toleratedNodes({}, [node("t", {}, [{ key: "k", effect: "PreferNoSchedule" }])])).toHaveLength(1);
});

test("requests are summed over containers, and held against the biggest node", () => {
  const containers = [{ name: "a", resources: { requests: { cpu: "500m" } } }, {
    name: "b",
    resources: { requests: { cpu: "2" } },
  }];
  expect(requestOf({ containers })).toEqual({ cpu: { text: "500m + 2", amount: 2.5 } });
  expect(biggest(NODES, "cpu")).toEqual({ text: "3", amount: 3 });
  expect(biggest([], "cpu")).toBeUndefined();
});
