import { expect, test } from "vitest";
import { createVerdictCache } from "../../../packages/router/access/reviews.ts";

/** A memory of two whose answers are numbers: those above zero are good. Counts what it asks for. */
function start() {
  const asked: string[] = [];
  const memory = createVerdictCache<number>(
    2,
    (value) => ({ isGood: value > 0, ttlMs: value > 0 ? 100 : 10, owner: "" }),
  );
  const get = async (key: string, now: number, value = 1) =>
    await memory.get(key, now, () => {
      asked.push(key);
      return Promise.resolve(value);
    });
  return { memory, asked, get };
}

test("bad answers push out bad ones alone", async () => {
  const { asked, get } = start();
  await get("good", 0);
  for (let guess = 0; guess < 50; guess++) await get(`bad-${guess}`, 1, -1);
  expect(await get("good", 2)).toBe(1);
  expect(await get("bad-49", 2, 1), "is remembered, too").toBe(-1);
  expect(asked).toHaveLength(51);
  await get("bad-0", 2, -1);
  expect(asked).toHaveLength(52);
});

test("of the good ones the oldest goes first", async () => {
  const { asked, get } = start();
  for (const key of ["a", "b", "a", "c", "b", "a"]) await get(key, 0);
  expect(asked).toEqual(["a", "b", "c", "a"]);
});

test("an answer of the other kind takes the place of the former", async () => {
  const { memory, get } = start();
  await get("a", 0);
  expect(memory.wasGood("a")).toBe(true);
  expect(await get("a", 101, -1)).toBe(-1);
  expect(memory.wasGood("a")).toBe(false);
  expect(await get("a", 200, 1)).toBe(1);
  expect([memory.wasGood("a"), memory.wasGood("b")]).toEqual([true, false]);
});

test("the user with the most entries makes room, so that many entries of one user push out no other user's few", async () => {
  const memory = createVerdictCache<string>(6, (owner) => ({ isGood: true, ttlMs: 100, owner }));
  const add = async (key: string, owner: string) => await memory.get(key, 0, () => Promise.resolve(owner));
  const has = (...keys: string[]) => keys.filter((key) => memory.wasGood(key));
  for (const key of ["vic-1", "vic-2"]) await add(key, "vic");
  for (let n = 1; n <= 50; n++) await add(`eve-${n}`, "eve");
  expect(has("vic-1", "vic-2", "eve-46", "eve-47", "eve-50")).toEqual(["vic-1", "vic-2", "eve-47", "eve-50"]);
  await add("vic-3", "vic");
  expect(has("vic-1", "eve-47", "eve-48"), "from who has more").toEqual(["vic-1", "eve-48"]);
  await add("vic-4", "vic");
  expect(has("vic-1", "vic-2", "eve-48"), "and from nobody who has not").toEqual(["vic-2", "eve-48"]);
  for (let n = 51; n <= 99; n++) await add(`eve-${n}`, "eve");
  expect(has("vic-2", "vic-3", "vic-4", "eve-97", "eve-98", "eve-99")).toHaveLength(6);
});

test("what is worth nothing is not remembered, and pushes nothing out", async () => {
  const memory = createVerdictCache<string>(
    1,
    (value) => value === "" ? undefined : { isGood: false, ttlMs: 100, owner: "" },
  );
  const get = async (key: string, value: string) => await memory.get(key, 0, () => Promise.resolve(value));
  await get("a", "no");
  await get("b", "");
  expect([await get("a", "asked anew"), await get("b", "asked anew")]).toEqual(["no", "asked anew"]);
});
