import { expect, test } from "vitest";
import { createMemory } from "../../../packages/router/access/tokenreview.ts";

/** A memory of two whose answers are numbers: those above zero are good. Counts what it asks for. */
function start() {
  const asked: string[] = [];
  const memory = createMemory<number>(2, (value) => ({ isGood: value > 0, ttlMs: value > 0 ? 100 : 10 }));
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
