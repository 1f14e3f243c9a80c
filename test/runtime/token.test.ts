/** createTokenCheck(): which requests have the token, while the file changes. @module */
import { rm, writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { createTokenCheck, tokenIsMounted } from "../../packages/runtime/token.ts";
import { makeRoot } from "./folders.ts";

test("a check without a file knows no token", async () => {
  expect(await createTokenCheck(undefined, false)("Bearer x")).toBe("none");
});

test.for(
  [
    ["Bearer token-1", "right"],
    ["bearer token-1", "right"],
    ["Bearer  token-1 ", "right"],
    ["Bearer token-2", "wrong"],
    ["Bearer token-11", "wrong"],
    ["Bearer token-", "wrong"],
    ["Bearer", "missing"],
    ["Bearer ", "missing"],
    ["token-1", "missing"],
    ["Basic token-1", "missing"],
    ["", "missing"],
    [undefined, "missing"],
  ] as const,
)("Authorization %j is %s", async ([header, verdict]) => {
  const { at } = await makeRoot({ "token": " token-1\n" });
  expect(await createTokenCheck(at("token"), false)(header)).toBe(verdict);
});

test("the file is read anew, and what cannot be read lets nobody in", async () => {
  const { at } = await makeRoot({ "token": "one" });
  const [check, strict] = [createTokenCheck(at("token"), false), createTokenCheck(at("token"), true)];
  await writeFile(at("token"), "two");
  expect([await check("Bearer one"), await check("Bearer two")]).toEqual(["wrong", "right"]);
  await writeFile(at("token"), "\n");
  expect([await check("Bearer one"), await check(undefined)]).toEqual(["wrong", "missing"]);
  await rm(at("token"));
  expect([await check("Bearer two"), await strict("Bearer two"), await strict("")]).toEqual([
    "none",
    "wrong",
    "missing",
  ]);
  expect(await createTokenCheck(at(""), false)("Bearer x")).toBe("wrong");
});

test("tokenIsMounted() says whether there is one, and throws where that is not what it looks like", async () => {
  const { at } = await makeRoot({ "token": "one", "empty": " \n" });
  expect([await tokenIsMounted(at("token"), true), await tokenIsMounted(at("none"), false)]).toEqual([true, false]);
  await expect(tokenIsMounted(at("none"), true)).rejects.toThrow("there is no such file");
  await expect(tokenIsMounted(at("empty"), false)).rejects.toThrow("the file is empty");
  await expect(tokenIsMounted(at(""), false)).rejects.toThrow(/^Cannot use the token in .*EISDIR/);
});
