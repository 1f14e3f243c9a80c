/** JSON with large integers: values are written as they were read, and compared, merged and shown as numbers. @module */
import fc from "../../properties.ts";
import { expect, test } from "vitest";
import {
  applyUpdate,
  canonicalJson,
  isUnchangedByMerge,
  mergeApply,
  sameJson,
} from "../../../packages/api/objects/apply.ts";
import { copyJson, isObject, parseJson, withBigInts, withoutBigInts } from "../../../packages/api/objects/json.ts";
import { plainly } from "../../../packages/cli/terminal.ts";
import { serialize } from "../../../packages/cli/output.ts";

const LARGEST = "9223372036854775807";
const TEXT =
  `{"a":${LARGEST},"b":[9007199254740993,-9007199254740993],"c":9007199254740992,"d":"12345678901234567890"}`;

test.for([
  TEXT,
  LARGEST,
  `[\n ${LARGEST} ]`,
  `{"time":"2026-01-01T00:00:00Z","n":1234567890123456}`,
])("%s is written as it was read", (text) => {
  const value = parseJson(text);
  expect(JSON.stringify(value)).toBe(text.replace(/\s/g, ""));
  expect(JSON.stringify(copyJson(value))).toBe(text.replace(/\s/g, ""));
  expect(JSON.stringify(plainly(value))).toBe(text.replace(/\s/g, ""));
});

test("whatever integers there are, digits stay; all else is what JSON.parse makes of it", () => {
  const large = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
  fc.assert(fc.property(fc.array(large, { minLength: 1 }), fc.jsonValue(), (integers, other) => {
    const text = `{"i":[${integers.join()}],"o":${JSON.stringify(other)}}`;
    const value = parseJson(text) as { i: unknown[]; o: unknown };
    expect(JSON.stringify(value.i)).toBe(`[${integers.join()}]`);
    expect(JSON.stringify(value.o)).toBe(JSON.stringify(JSON.parse(JSON.stringify(other))));
  }));
});

test("a large integer is a scalar to merge, comparison and canonical text", () => {
  const [value, same] = [parseJson(TEXT), parseJson(TEXT)] as [{ a: unknown }, { a: unknown }];
  const other = parseJson(TEXT.replace("5807", "5806")) as object;
  expect([isObject(value.a), sameJson(value, same), sameJson(value, other)]).toEqual([false, true, false]);
  expect(canonicalJson(value)).toBe(TEXT);
  expect(JSON.stringify(mergeApply(value, value, other))).toBe(JSON.stringify(other));
  expect([isUnchangedByMerge(value, value, same), isUnchangedByMerge(value, value, other)]).toEqual([true, false]);
  const written = applyUpdate({ metadata: {}, spec: value }, { spec: same }) as never as {
    metadata: { annotations: object };
  };
  expect(Object.values(written.metadata.annotations)).toEqual([`{"spec":${TEXT}}`]);
});

test("YAML has its digits, too, both ways", async () => {
  expect(await serialize(parseJson(TEXT), "yaml")).toContain(`a: ${LARGEST}\n`);
  expect(JSON.stringify(withoutBigInts(withBigInts(parseJson(TEXT))))).toBe(TEXT);
});
