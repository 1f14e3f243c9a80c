/** What counts as large, and that no more is looked at than tells. @module */
import { expect, test } from "vitest";
import { isLarge } from "../../../packages/api/objects/size.ts";

const list = <T>(count: number, item: T): T[] => Array.from({ length: count }, () => item);

test.for([
  { name: "a long text", object: { a: "x".repeat(1000) }, small: { a: "x".repeat(900) } },
  { name: "long keys", object: { ["k".repeat(1000)]: 1 }, small: { ["k".repeat(900)]: 1 } },
  { name: "many tiny items", object: { a: list(130, {}) }, small: { a: list(110, {}) } },
  { name: "many empty texts", object: { a: list(130, "") }, small: { a: list(110, "") } },
  { name: "many numbers", object: list(130, 0), small: list(110, 0) },
  { name: "what is deep inside", object: { a: [{ b: { c: "x".repeat(1000) } }] }, small: { a: [{ b: { c: null } }] } },
])("isLarge() counts $name", ({ object, small }) => {
  expect([isLarge(object, 1000), isLarge(small, 1000)]).toEqual([true, false]);
});

test("isLarge() looks no further than it has to", () => {
  let looked = 0;
  const items = new Proxy(list(100_000, {}), {
    get(target, key) {
      looked++;
      return Reflect.get(target, key) as unknown;
    },
  });
  expect(isLarge({ items }, 1000)).toBe(true);
  expect(looked).toBeLessThan(500);
});
