/** The last-applied annotation and its bytes; every expectation was compared with Metacontroller 4.17.2's own. @module */
import { describe, expect, test } from "vitest";
import {
  applyCreate,
  applyUpdate,
  canonicalJson,
  LAST_APPLIED_ANNOTATION,
  lastApplied,
  sameJson,
} from "../../../packages/api/objects/apply.ts";
import { deepFreeze } from "../../freeze.ts";
import fc from "../../properties.ts";

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
    const meta = {
      ...desired.metadata,
      ...{ uid: "u2", resourceVersion: "9", generation: 9, deletionTimestamp: "now", selfLink: "/x" },
    };
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

  test("writes the desired object into the annotation, and keeps the annotations of others", () => {
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

test("lastApplied() refuses what is nested deeper than any object of Kubernetes, and counts no brackets in texts", () => {
  const nested = (levels: number) => `{"a":${"[".repeat(levels - 1)}${"]".repeat(levels - 1)}}`;
  const read = (text: string) => () => lastApplied({ metadata: { annotations: { [LAST_APPLIED_ANNOTATION]: text } } });
  expect(read(nested(200))).not.toThrow();
  expect(read(nested(201))).toThrow("it is nested too deeply");
  expect(read(nested(100_000))).toThrow("it is nested too deeply");
  const texts = JSON.stringify({ a: `"${"[{".repeat(500)}\\` });
  expect(read(texts)()).toEqual(JSON.parse(texts));
  const many = JSON.stringify({ a: Array.from({ length: 500 }, () => ({})) });
  expect(read(many)()).toEqual(JSON.parse(many));
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
