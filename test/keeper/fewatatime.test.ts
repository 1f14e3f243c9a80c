/** A few at a time: how many, in which order, and what a failure ends. */
import { setImmediate } from "node:timers";
import { expect, test } from "vitest";
import { fewAtATime } from "../../packages/keeper/children.ts";

const NUMBERS = Array.from({ length: 20 }, (_, i) => i);
const turn = () => new Promise<void>((done) => setImmediate(done));

test("no more is begun at once, all is done, and results come in the order of the items", async () => {
  let open = 0;
  let most = 0;
  const results = await fewAtATime(NUMBERS, 8, async (number) => {
    most = Math.max(most, ++open);
    for (let turns = 0; turns < number % 3; turns++) await turn();
    open--;
    return number * 2;
  });
  expect(results).toEqual(NUMBERS.map((number) => number * 2));
  expect(most).toBe(8);
});

test("nothing is begun after a failure, which is thrown", async () => {
  const begun: number[] = [];
  const done = fewAtATime(NUMBERS, 4, async (number) => {
    begun.push(number);
    await turn();
    if (number === 1) throw new Error("no");
  });
  await expect(done).rejects.toThrow("no");
  for (let turns = 0; turns < 20; turns++) await turn();
  expect(begun.length).toBeLessThan(9);
});
