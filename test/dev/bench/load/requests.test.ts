/** @module */
import { expect, test } from "vitest";
import { sendAll } from "../../../../dev/bench/load/requests.ts";

test("sendAll() of a burst keeps each client busy with one request at a time", async () => {
  let running = 0;
  let most = 0;
  const seen: number[] = [];
  await sendAll(20, { kind: "burst", clients: 3 }, async (index) => {
    most = Math.max(most, ++running);
    await new Promise((resolve) => setTimeout(resolve));
    seen.push(index);
    running--;
  });
  expect(most).toBe(3);
  expect(seen.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, index) => index));
});

test("sendAll() of a rate does not wait for answers, and tells when each was due", async () => {
  const dues: number[] = [];
  const open = Promise.withResolvers<void>();
  const all = sendAll(3, { kind: "rate", perSecond: 1000 }, async (index, due) => {
    dues.push(due);
    if (index === 2) open.resolve();
    await open.promise;
  });
  await all;
  expect(dues.map((due) => Math.round(due - (dues[0] ?? 0)))).toEqual([0, 1, 2]);
});

test("sendAll() fails with the first refusal", async () => {
  const refuse = () => Promise.reject(new Error("refused"));
  await expect(sendAll(2, { kind: "burst", clients: 1 }, refuse)).rejects.toThrow("refused");
});

test("sendAll() of a rate hears of a refusal while it goes on, and makes no more calls", async () => {
  let asked = 0;
  const refuse = () => {
    asked++;
    return Promise.reject(new Error("refused"));
  };
  await expect(sendAll(1000, { kind: "rate", perSecond: 20 }, refuse)).rejects.toThrow("refused");
  expect(asked).toBeLessThan(3);
});
