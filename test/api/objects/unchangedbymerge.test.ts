/** The short way to know what a merge comes to says what the merge itself says. @module */
import { expect, test } from "vitest";
import { isUnchangedByMerge, mergeApply, sameJson } from "../../../packages/api/objects/apply.ts";
import fc from "../../properties.ts";

test("isUnchangedByMerge() says of whatever three values what their merge comes to", () => {
  const leaf = fc.constantFrom<unknown>(0, 1, "", "a", null, undefined, true);
  const item = fc.record({ name: fc.constantFrom<unknown>("a", "b", 1, null), port: fc.constantFrom(1, 2), x: leaf }, {
    requiredKeys: ["name"],
  });
  const { node } = fc.letrec((tie) => ({
    node: fc.oneof({ maxDepth: 3 }, leaf, tie("list"), tie("items"), tie("object")),
    list: fc.array(fc.oneof(leaf, tie("object")), { maxLength: 2 }),
    items: fc.array(item, { maxLength: 3 }),
    object: fc.dictionary(fc.constantFrom("a", "b", "__proto__", "constructor"), tie("node"), { maxKeys: 3 }),
  }));
  const object = fc.dictionary(fc.constantFrom("a", "b", "c"), node, { maxKeys: 3 });
  // Three that have nothing in common are almost never the same.
  const three = fc.tuple(object, object, object, fc.constantFrom(0, 1, 2, 3)).map(([a, b, c, alike]) =>
    [[a, b, c], [a, a, a], [a, b, a], [a, b, b]][alike]!
  );
  fc.assert(
    fc.property(three, ([observed, last, desired]) => {
      const isSame = sameJson(mergeApply(observed!, last, desired!), observed);
      expect(isUnchangedByMerge(observed!, last, desired!)).toBe(isSame);
    }),
    { numRuns: 1000 },
  );
});
