/** Places that several share, and whom a token says that it is of. @module */
import { Buffer } from "node:buffer";
import { expect, test } from "vitest";
import { holderOf } from "../../../packages/router/access/reviews.ts";
import { createConcurrencyLimit } from "../../../packages/router/limits.ts";

const tokenOf = (payload: unknown) => `x.${Buffer.from(JSON.stringify(payload)).toString("base64url")}.y`;

test("nobody holds more than a part, and all together no more than there are", () => {
  const take = createConcurrencyLimit(3, 2);
  const first = take("a");
  expect([first, take("a"), take("a")].map((leave) => leave !== undefined)).toEqual([true, true, false]);
  expect([take("b"), take("c")].map((leave) => leave !== undefined)).toEqual([true, false]);
  [first?.(), first?.()];
  const leaving = [take("c"), take("d")].map((leave) => leave !== undefined);
  expect(leaving, "what is given back another may have, once").toEqual([true, false]);
});

test.for([
  { name: "a person", token: tokenOf({ sub: "ada@example.com" }), holder: "ada@example.com" },
  {
    name: "a ServiceAccount",
    token: tokenOf({ sub: "system:serviceaccount:team-a:bot" }),
    holder: "system:serviceaccount:team-a",
  },
  { name: "no words", token: "opaque", holder: "opaque" },
  { name: "no JSON", token: "a.b.c", holder: "a.b.c" },
  { name: "nothing", token: tokenOf(null), holder: tokenOf(null) },
  { name: "no subject", token: tokenOf({ sub: 7 }), holder: tokenOf({ sub: 7 }) },
])("a token of $name", ({ token, holder }) => {
  expect(holderOf(token)).toBe(holder);
});
