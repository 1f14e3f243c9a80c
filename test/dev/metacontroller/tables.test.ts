/** Tables of what decides without I/O: selectors, related rules, the two shapes of object maps. @module */
import { expect, test } from "vitest";
import { addObjects, groupFor, hookMap, sortedGroups } from "../../../packages/testing/metacontroller/children.ts";
import {
  matchesRule,
  type RelatedRule,
  type RuleContext,
  selectRelated,
} from "../../../packages/testing/metacontroller/customize.ts";
import { type LabelSelector, matcherOf } from "../../../packages/testing/store/selectors.ts";
import type { Informer } from "../../../packages/testing/metacontroller/informer.ts";
import type { KubeObject } from "../../../packages/api/objects/objects.ts";

const expression = (key: string, operator: string, ...values: string[]): LabelSelector => ({
  matchExpressions: [{ key, operator, ...(values.length && { values }) }],
});

test.for<[LabelSelector | undefined, Record<string, string> | undefined, boolean]>([
  [undefined, undefined, true],
  [{}, { a: "1" }, true],
  [{ matchLabels: { a: "1" } }, { a: "1", b: "2" }, true],
  [{ matchLabels: { a: "1", b: "2" } }, { a: "1" }, false],
  [{ matchLabels: { a: "" } }, {}, false],
  [{ matchLabels: { constructor: "x" } }, {}, false],
  [expression("a", "In", "1", "2"), { a: "2" }, true],
  [expression("a", "In", "1"), {}, false],
  [expression("a", "In", ""), {}, false],
  [expression("a", "NotIn", "1"), { a: "1" }, false],
  [expression("a", "NotIn", "1"), {}, true],
  [expression("a", "Exists"), { a: "" }, true],
  [expression("a", "Exists"), undefined, false],
  [expression("toString", "Exists"), {}, false],
  [expression("a", "DoesNotExist"), { b: "1" }, true],
  [expression("a", "DoesNotExist"), { a: "1" }, false],
  [{ matchLabels: { a: "1" }, ...expression("b", "Exists") }, { a: "1" }, false],
])("selector %j of %j: %s", ([selector, labels, want]) => {
  expect(matcherOf(selector)(labels)).toBe(want);
});

test.for([expression("a", "Equals", "1"), expression("a", "In"), expression("a", "Exists", "1")])(
  "refuses selector %j",
  (selector) => {
    expect(() => matcherOf(selector)).toThrow(/^Cannot use selector on a: /);
  },
);

const object = (kind: string, name: string, namespace?: string, labels = {}): KubeObject => ({
  apiVersion: "v1",
  kind,
  metadata: { name, labels, ...(namespace && { namespace }) },
});
const maps = [
  object("ConfigMap", "a", "ns", { l: "1" }),
  object("ConfigMap", "b", "ns"),
  object("ConfigMap", "a", "ns2", { l: "1" }),
];
const nodes = [object("Node", "a", undefined, { l: "1" }), object("Node", "b")];
const namespaces: Record<string, Record<string, string>> = { ns: {}, ns2: { team: "x" } };

interface RuleCase {
  rule: Partial<RelatedRule>;
  version?: "v1" | "v2";
  clusterParent?: boolean;
  related?: "configmaps" | "nodes";
  /** What is listed, and what wakes the parent if it differs. */
  want: string[] | RegExp;
  wakes?: string[];
}

test.for<RuleCase>([
  { rule: {}, want: ["ns/a", "ns/b", "ns2/a"] },
  { rule: {}, version: "v1", want: ["ns/a", "ns/b"] },
  { rule: {}, version: "v1", clusterParent: true, want: ["ns/a", "ns/b", "ns2/a"] },
  { rule: {}, version: "v1", related: "nodes", want: ["a", "b"] },
  { rule: { labelSelector: { matchLabels: { l: "1" } } }, want: ["ns/a", "ns2/a"] },
  { rule: { labelSelector: { matchLabels: { l: "1" } } }, version: "v1", want: ["ns/a"] },
  { rule: { labelSelector: { matchLabels: { l: "1" } }, namespace: "ns2" }, want: ["ns2/a"] },
  {
    rule: { labelSelector: { matchLabels: { l: "1" } }, namespace: "ns2" },
    version: "v1",
    want: /namespace ns2 is not the parent's, ns/,
  },
  { rule: { namespace: "ns" }, want: ["ns/a", "ns/b"] },
  { rule: { namespace: "ns" }, version: "v1", want: ["ns/a", "ns/b"] },
  { rule: { namespace: "ns2" }, version: "v1", want: /is not the parent's/ },
  { rule: { names: ["a"] }, want: ["ns/a", "ns2/a"] },
  // the trap: listed in all namespaces, though only its own wakes the parent
  { rule: { names: ["a"] }, version: "v1", want: ["ns/a", "ns2/a"], wakes: ["ns/a"] },
  { rule: { names: ["a"], namespace: "ns2" }, want: ["ns2/a"] },
  { rule: { names: ["b"] }, related: "nodes", want: ["b"] },
  { rule: { names: ["a"], labelSelector: {} }, want: /names and a selector/ },
  { rule: { names: ["a"], namespaceSelector: {} }, want: /names and a selector/ },
  { rule: { namespace: "ns", namespaceSelector: {} }, want: /namespace and namespaceSelector/ },
  { rule: { namespaceSelector: { matchLabels: { team: "x" } } }, want: ["ns2/a"] },
  { rule: { namespaceSelector: {}, labelSelector: { matchLabels: { l: "1" } } }, want: ["ns/a", "ns2/a"] },
  { rule: { namespaceSelector: {} }, version: "v1", want: /needs hook version v2/ },
  { rule: { namespaceSelector: {} }, version: "v1", clusterParent: true, want: ["ns/a", "ns/b", "ns2/a"] },
  { rule: { namespaceSelector: {} }, related: "nodes", want: /cluster-scoped/ },
])(
  "related rule $rule $version $related",
  ({ rule, version = "v2", clusterParent = false, related = "configmaps", want, wakes }) => {
    const all = related === "nodes" ? nodes : maps;
    const full = { apiVersion: "v1", resource: related, ...rule };
    const context: RuleContext = {
      version,
      parent: object("Parent", "p", clusterParent ? undefined : "ns"),
      parentResource: {
        apiVersion: "v1",
        kind: "Parent",
        plural: "parents",
        namespaced: !clusterParent,
        hasStatus: true,
      },
      resource: {
        apiVersion: "v1",
        kind: related === "nodes" ? "Node" : "ConfigMap",
        plural: related,
        namespaced: related !== "nodes",
        hasStatus: false,
      },
      labelsOf: (name) => namespaces[name],
    };
    const informer = {
      list: (namespace?: string) =>
        all.filter(({ metadata }) => namespace === undefined || metadata.namespace === namespace),
    } as unknown as Informer;
    const keys = (objects: KubeObject[]) =>
      objects.map(({ metadata: { namespace, name } }) => namespace ? `${namespace}/${name}` : name);
    const woken = keys(all.filter((object) => matchesRule(full, context, object)));
    if (want instanceof RegExp) {
      expect(() => selectRelated(full, context, informer)).toThrow(want);
      expect(woken).toStrictEqual([]);
    } else {
      expect(keys(selectRelated(full, context, informer))).toStrictEqual(want);
      expect(woken).toStrictEqual(wakes ?? want);
    }
  },
);

test("object maps: v2 keys have the namespace, v1 keys are relative to the parent", () => {
  const groups = addObjects(new Map(), [...maps, ...nodes]);
  groupFor(groups, { apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox" });
  const keys = (version: "v1" | "v2", namespace?: string) =>
    Object.fromEntries(
      Object.entries(hookMap(groups, version, namespace) as object).map((
        [kind, objects],
      ) => [kind, Object.keys(objects)]),
    );
  const all = {
    "ConfigMap.v1": ["ns/a", "ns/b", "ns2/a"],
    "Node.v1": ["a", "b"],
    "Sandbox.agents.x-k8s.io/v1beta1": [],
  };
  expect(keys("v2", "ns")).toStrictEqual(all);
  expect(keys("v1")).toStrictEqual(all);
  expect(keys("v1", "ns")).toStrictEqual({
    "ConfigMap.v1": ["a", "b"],
    "Node.v1": [],
    "Sandbox.agents.x-k8s.io/v1beta1": [],
  });
});

test("kinds are managed in order of group, version, kind", () => {
  const groups = new Map();
  for (
    const [apiVersion, kind] of [["b/v1", "A"], ["v1", "Service"], ["b/v1beta1", "A"], ["a/v2", "Z"], [
      "v1",
      "PersistentVolumeClaim",
    ], ["v1", "Pod"]] as const
  ) {
    groupFor(groups, { apiVersion, kind });
  }
  expect(sortedGroups(groups).map(({ apiVersion, kind }) => `${apiVersion} ${kind}`)).toStrictEqual([
    "v1 PersistentVolumeClaim",
    "v1 Pod",
    "v1 Service",
    "a/v2 Z",
    "b/v1 A",
    "b/v1beta1 A",
  ]);
});
