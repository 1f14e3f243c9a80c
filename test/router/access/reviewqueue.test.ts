import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createReviewQueue } from "../../../packages/router/access/reviews.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

/** Questions of budget 2, and one more each second; `answer` and `fail` end the one that has run for the longest. */
function start(isPatient = false) {
  const questions = createReviewQueue({ perSecond: 1, burst: 2, detail: "Used up.", isPatient });
  const running: { name: string; answer: PromiseWithResolvers<boolean> }[] = [];
  const said: string[] = [];
  const ask = (name: string, requester = "ann") => {
    const question = () => {
      const answer = Promise.withResolvers<boolean>();
      running.push({ name, answer });
      return answer.promise;
    };
    const say = (outcome: unknown) => void said.push(`${name}: ${outcome}`);
    void questions(requester, question, (isGood) => isGood).then(
      (answer) => say(typeof answer === "object" ? answer.detail : answer),
      say,
    );
  };
  const settle = async (how: (answer: PromiseWithResolvers<boolean>) => void) => {
    await settled();
    const next = running.shift();
    if (!next) throw new Error("Cannot answer: nothing is asked");
    how(next.answer);
    await settled();
  };
  return {
    ask,
    said,
    names: async () => (await settled(), running.map(({ name }) => name)),
    answer: (isGood: boolean) => settle(({ resolve }) => resolve(isGood)),
    fail: () => settle(({ reject }) => reject(new Error("unreachable"))),
  };
}

const settled = () => setImmediate();

describe("createReviewQueue()", () => {
  test("asks what is beyond the budget as good answers come, in order", async () => {
    const { ask, answer, names, said } = start();
    for (const name of ["a", "b", "c", "d"]) ask(name);
    expect(await names()).toEqual(["a", "b"]);
    await answer(true);
    expect(await names()).toEqual(["b", "c"]);
    await answer(true);
    expect(await names()).toEqual(["c", "d"]);
    expect(said).toEqual(["a: true", "b: true"]);
  });

  test("refuses those who wait once bad answers have used the budget up, and newcomers at once", async () => {
    const { ask, answer, names, said } = start();
    for (const name of ["a", "b", "c", "d"]) ask(name);
    await answer(false);
    expect(await names(), "b may yet be good").toEqual(["b"]);
    await answer(false);
    expect(said).toEqual(["a: false", "b: false", "c: Used up.", "d: Used up."]);
    ask("e");
    ask("x", "another");
    expect(await names()).toEqual(["x"]);
    expect(said.at(-1)).toBe("e: Used up.");
    vi.advanceTimersByTime(1000);
    ask("f");
    expect(await names()).toEqual(["x", "f"]);
  });

  test("takes no answer for a bad one", async () => {
    const { ask, fail, said } = start();
    for (const name of ["a", "b", "c"]) ask(name);
    await fail();
    await fail();
    expect(said).toEqual(["a: Error: unreachable", "b: Error: unreachable", "c: Used up."]);
  });

  test("puts no more at a time than may turn out bad at once, however slow the answers are", async () => {
    const { ask, answer, names } = start();
    for (const name of ["a", "b", "c"]) ask(name);
    vi.advanceTimersByTime(3000);
    ask("d");
    expect(await names()).toEqual(["a", "b"]);
    await answer(false);
    expect(await names()).toEqual(["b", "c"]);
  });

  test("lets a thousand wait, and none of them longer than five seconds", async () => {
    const { ask, answer, names, said } = start();
    for (let n = 0; n < 1003; n++) ask(String(n));
    expect(await names()).toEqual(["0", "1"]);
    expect(said).toEqual(["1002: Too many requests wait for the API server's answer."]);
    vi.advanceTimersByTime(5001);
    await settled();
    expect(said).toHaveLength(1001);
    expect(new Set(said.map((each) => each.replace(/^\d+/, "")))).toHaveLength(1);
    await answer(true);
    await answer(true);
    expect(await names(), "who has given up is not asked for").toEqual([]);
    ask("late");
    expect(await names()).toEqual(["late"]);
  });

  test("has a patient requester's questions wait for the budget to fill, the newest first", async () => {
    const { ask, answer, names, said } = start(true);
    for (const name of ["a", "b", "c", "d"]) ask(name);
    await answer(false);
    await answer(false);
    ask("e");
    expect(await names()).toEqual([]);
    vi.advanceTimersByTime(1000);
    expect(await names()).toEqual(["e"]);
    await answer(true);
    expect(await names(), "a good answer gives back what it took").toEqual(["d"]);
    expect(said).toEqual(["a: false", "b: false", "e: true"]);
    await answer(false);
    await vi.advanceTimersByTimeAsync(1000);
    expect(await names()).toEqual(["c"]);
  });

  test("lets a thousand questions of a patient requester wait: the oldest makes room for the newest", async () => {
    const { ask, names, said } = start(true);
    for (let n = 0; n < 1003; n++) ask(String(n));
    expect(await names()).toEqual(["0", "1"]);
    expect(said).toEqual(["2: Used up."]);
  });
});
