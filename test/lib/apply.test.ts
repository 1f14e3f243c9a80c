/** Tables for dynamic-apply; every expectation was compared with Metacontroller 4.17.2's own merge. @module */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  applyCreate,
  applyUpdate,
  canonicalJson,
  LAST_APPLIED_ANNOTATION,
  lastApplied,
  mergeApply,
  sameJson,
} from "../../lib/apply.ts";

type Json = Record<string, unknown>;
interface Case {
  name: string;
  reason: string;
  observed: Json;
  last?: Json;
  desired: Json;
  want: Json;
}

const defaultTolerations = [{ key: "node.kubernetes.io/not-ready", operator: "Exists", effect: "NoExecute" }];

const cases: Case[] = [
  {
    name: "a field nobody applied",
    reason: "what others set survives, at every depth",
    observed: { spec: { nodeName: "n1", replicas: 1 } },
    desired: { spec: { replicas: 2 } },
    want: { spec: { nodeName: "n1", replicas: 2 } },
  },
  {
    name: "removal by last-applied",
    reason: "only what was applied before is taken back when it is no longer desired",
    observed: { metadata: { labels: { ours: "1", theirs: "1" } } },
    last: { metadata: { labels: { ours: "1" } } },
    desired: { metadata: { labels: {} } },
    want: { metadata: { labels: { theirs: "1" } } },
  },
  {
    name: "a whole branch that is no longer desired",
    reason: "the field goes with all that is in it, others' values included",
    observed: { spec: { a: { ours: 1, theirs: 2 } } },
    last: { spec: { a: { ours: 1 } } },
    desired: { spec: {} },
    want: { spec: {} },
  },
  {
    name: "tolerations",
    reason: "items share no merge key, so the list is atomic and the defaults of admission are lost",
    observed: { tolerations: [{ key: "gpu", operator: "Exists" }, ...defaultTolerations] },
    last: { tolerations: [{ key: "gpu", operator: "Exists" }] },
    desired: { tolerations: [{ key: "gpu", operator: "Exists" }] },
    want: { tolerations: [{ key: "gpu", operator: "Exists" }] },
  },
  {
    name: "port 53 by TCP and UDP",
    reason: "container ports are keyed by containerPort alone: both entries collapse into the last",
    observed: { ports: [{ containerPort: 53, protocol: "TCP" }, { containerPort: 53, protocol: "UDP" }] },
    desired: { ports: [{ containerPort: 53, protocol: "TCP" }, { containerPort: 53, protocol: "UDP" }] },
    want: { ports: [{ containerPort: 53, protocol: "UDP" }, { containerPort: 53, protocol: "UDP" }] },
  },
  {
    name: "projected sources",
    reason: "each item has another single key, so the list is atomic and expirationSeconds is lost on every sync",
    observed: { sources: [{ serviceAccountToken: { path: "token", expirationSeconds: 3607 } }, { configMap: {} }] },
    desired: { sources: [{ serviceAccountToken: { path: "token" } }, { configMap: {} }] },
    want: { sources: [{ serviceAccountToken: { path: "token" } }, { configMap: {} }] },
  },
  {
    name: "containers",
    reason: "merged by name: defaults and an injected sidecar survive, observed order stays, new ones are last",
    observed: { containers: [{ name: "sidecar" }, { name: "main", image: "a", terminationMessagePath: "/dev/x" }] },
    last: { containers: [{ name: "main", image: "a" }] },
    desired: { containers: [{ name: "new", image: "c" }, { name: "main", image: "b" }] },
    want: {
      containers: [
        { name: "sidecar" },
        { name: "main", image: "b", terminationMessagePath: "/dev/x" },
        { name: "new", image: "c" },
      ],
    },
  },
  {
    name: "ownerReferences, the old one in last-applied",
    reason: "keyed by name, not by uid: the hand-over of a Sandbox from pool to claim in one write",
    observed: { ownerReferences: [{ name: "pool", uid: "1", controller: true }] },
    last: { ownerReferences: [{ name: "pool", uid: "1", controller: true }] },
    desired: { ownerReferences: [{ name: "claim", uid: "2", controller: true }] },
    want: { ownerReferences: [{ name: "claim", uid: "2", controller: true }] },
  },
  {
    name: "ownerReferences, the old one not in last-applied",
    reason: "two controllers remain and the API server refuses the object",
    observed: { ownerReferences: [{ name: "pool", uid: "1" }] },
    desired: { ownerReferences: [{ name: "claim", uid: "2" }] },
    want: { ownerReferences: [{ name: "pool", uid: "1" }, { name: "claim", uid: "2" }] },
  },
  {
    name: "ownerReferences of the same name",
    reason: "a parent made anew under its old name takes the place of the old reference",
    observed: { ownerReferences: [{ name: "pool", uid: "1", controller: true }] },
    desired: { ownerReferences: [{ name: "pool", uid: "2" }] },
    want: { ownerReferences: [{ name: "pool", uid: "2", controller: true }] },
  },
  {
    name: "a null item",
    reason: "not all items are objects, so the list is atomic",
    observed: { env: [{ name: "A", value: "1" }, { name: "B" }] },
    desired: { env: [{ name: "A" }, null] },
    want: { env: [{ name: "A" }, null] },
  },
  {
    name: "an item without the key in last-applied",
    reason: "the key must be shared by the items of all three lists",
    observed: { env: [{ name: "A", value: "1" }] },
    last: { env: [{ value: "1" }] },
    desired: { env: [{ name: "A" }] },
    want: { env: [{ name: "A" }] },
  },
  {
    name: "a list map that becomes empty",
    reason: "only the items that were applied go",
    observed: { env: [{ name: "A" }, { name: "B" }] },
    last: { env: [{ name: "A" }] },
    desired: { env: [] },
    want: { env: [{ name: "B" }] },
  },
  {
    name: "null over an object, a scalar over a list",
    reason: "the wrong type counts as empty: the object stays, the list without a key becomes null",
    observed: { spec: { a: 1 }, args: ["x"] },
    desired: { spec: null, args: "y" },
    want: { spec: { a: 1 }, args: null },
  },
  {
    name: "names of Object.prototype",
    reason: "labels are user data",
    observed: { labels: { constructor: "a" } },
    last: { labels: { constructor: "a", toString: "b" } },
    desired: { labels: { valueOf: "c" } },
    want: { labels: { valueOf: "c" } },
  },
];

test.for(cases)("mergeApply() $name", ({ observed, last, desired, want, reason }) => {
  const inputs = structuredClone([observed, last, desired]);
  expect(mergeApply(deepFreeze(observed), deepFreeze(last), deepFreeze(desired)), reason).toStrictEqual(want);
  expect([observed, last, desired]).toStrictEqual(inputs);
});

describe("applyUpdate()", () => {
  const desired = { apiVersion: "v1", kind: "Pod", metadata: { name: "p", labels: { a: "1" } }, spec: { x: 1 } };
  const observed = {
    ...applyCreate(desired),
    metadata: {
      ...(applyCreate(desired).metadata as typeof desired.metadata & { annotations: Record<string, string> }),
      uid: "u1",
      resourceVersion: "7",
      generation: 2,
      managedFields: [{ manager: "m" }],
    },
    status: { phase: "Running" },
  };

  test("is a no-op for the object that was created", () => {
    expect(sameJson(applyUpdate(deepFreeze(observed), deepFreeze(desired)), observed)).toBe(true);
  });

  test("is a no-op for the last-applied configuration, with the annotation itself in it or not", () => {
    const withAnnotation = {
      ...desired,
      metadata: { ...desired.metadata, annotations: observed.metadata.annotations },
    };
    expect(sameJson(applyUpdate(observed, lastApplied(observed) ?? {}), observed)).toBe(true);
    expect(applyUpdate(observed, withAnnotation).metadata.annotations).toStrictEqual({
      [LAST_APPLIED_ANNOTATION]: canonicalJson({ ...desired, metadata: { ...desired.metadata, annotations: {} } }),
    });
  });

  test("ignores system metadata and status, even where the observed object has none", () => {
    const meta = { ...desired.metadata, uid: "u2", generation: 9, deletionTimestamp: "now", selfLink: "/x" };
    const result = applyUpdate(observed, { ...desired, metadata: meta, status: { phase: "Failed" } });
    expect(result.status).toStrictEqual({ phase: "Running" });
    expect(result.metadata).toMatchObject({ uid: "u1", resourceVersion: "7", generation: 2 });
    expect(result.metadata).not.toHaveProperty("deletionTimestamp");
    const { status: _, ...withoutStatus } = observed;
    expect(applyUpdate(withoutStatus, { ...desired, status: {} })).not.toHaveProperty("status");
  });

  test("keeps system metadata even if last-applied once held it", () => {
    const last = { metadata: { uid: "u1", managedFields: [] } };
    const annotations = { [LAST_APPLIED_ANNOTATION]: JSON.stringify(last) };
    const result = applyUpdate({ ...observed, metadata: { ...observed.metadata, annotations } }, desired);
    expect(result.metadata).toMatchObject({ uid: "u1", managedFields: [{ manager: "m" }] });
  });

  test("writes the desired object into the annotation, beside the annotations of others", () => {
    const theirs = { ...observed, metadata: { ...observed.metadata, annotations: { theirs: "1" } } };
    expect(applyUpdate(theirs, { metadata: { labels: { b: "<2>" } } }).metadata.annotations).toStrictEqual({
      theirs: "1",
      [LAST_APPLIED_ANNOTATION]: '{"metadata":{"labels":{"b":"\\u003c2\\u003e"}}}',
    });
  });
});

test("applyCreate() remembers exactly what was desired", () => {
  const desired = deepFreeze({ kind: "Pod", metadata: { name: "p", annotations: { a: "1" } } });
  const created = applyCreate(desired);
  expect(lastApplied(created)).toStrictEqual(desired);
  expect(created.metadata.annotations).toMatchObject({ a: "1" });
});

test.for([
  { text: undefined, want: undefined },
  { text: "", want: undefined },
  { text: "null", want: undefined },
  { text: '{"a":1}', want: { a: 1 } },
])("lastApplied() of $text", ({ text, want }) => {
  expect(lastApplied({ metadata: { annotations: text === undefined ? {} : { [LAST_APPLIED_ANNOTATION]: text } } }))
    .toStrictEqual(want);
});

test.for(["{", "[]", "1", '"x"'])("lastApplied() refuses %s", (text) => {
  const object = { metadata: { annotations: { [LAST_APPLIED_ANNOTATION]: text } } };
  expect(() => lastApplied(object)).toThrow(
    /^Cannot read annotation metacontroller.k8s.io\/last-applied-configuration: /,
  );
  expect(() => applyUpdate(object, {})).toThrow(SyntaxError);
});

test.for<[unknown, string, string]>([
  [{ b: 1, a: [{ d: null, c: true }], "10": "x", "9": 0 }, '{"10":"x","9":0,"a":[{"c":true,"d":null}],"b":1}', "bytes"],
  [{ "\u{1f600}": 1, "\ufb33": 2 }, '{"\ufb33":2,"\u{1f600}":1}', "UTF-8 order, which UTF-16 order is not"],
  [{ a: undefined, b: [undefined] }, '{"b":[null]}', "undefined is absent"],
  [
    '<a>&\u2028\u2029\u007f\b\f\n\r\t\u0001"\\/',
    '"\\u003ca\\u003e\\u0026\\u2028\\u2029\u007f\\b\\f\\n\\r\\t\\u0001\\"\\\\/"',
    "escapes",
  ],
  ["\ud800x\u{1f600}", '"\ufffdx\u{1f600}"', "half a surrogate pair is no character"],
  [[1e21, 1e20, 1e-7, 0.000001, -0, 1.5], "[1e+21,100000000000000000000,1e-7,0.000001,0,1.5]", "numbers"],
])("canonicalJson(%o) is %s", ([value, want, reason]) => {
  expect(canonicalJson(value), reason).toBe(want);
});

test("canonicalJson() means the same value and does not depend on the order of keys", () => {
  fc.assert(fc.property(fc.jsonValue(), (value) => {
    const normal = JSON.parse(JSON.stringify(value));
    expect(sameJson(JSON.parse(canonicalJson(value)), normal)).toBe(true);
    expect(canonicalJson(reversed(normal))).toBe(canonicalJson(normal));
    expect(sameJson(reversed(normal), normal)).toBe(true);
  }));
});

test.for<[unknown, unknown, boolean]>([
  [{ a: 1, b: 2 }, { b: 2, a: 1 }, true],
  [{ a: 1 }, { a: 1, b: undefined }, true],
  [{ a: undefined }, { b: 1 }, false],
  [{}, { toString: 1 }, false],
  [{ a: null }, {}, false],
  [[1, 2], [2, 1], false],
  [[], {}, false],
  [undefined, {}, false],
  ["1", 1, false],
])("sameJson(%o, %o) is %s", ([a, b, want]) => {
  expect(sameJson(a, b)).toBe(want);
  expect(sameJson(b, a)).toBe(want);
});

function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).reverse().map(([key, item]) => [key, reversed(item)]));
}

function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    Object.values(value).forEach(deepFreeze);
  }
  return value;
}
