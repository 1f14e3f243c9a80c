/** A proxy finds out that nobody enforces NetworkPolicies: it reaches a port of another proxy that is closed to it. @module */
import { setImmediate } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { canConnect, type EnforcementState, watchEnforcement } from "../../packages/egress/enforcement.ts";
import { createFakeClock } from "../../packages/testing/clock.ts";
import { serve } from "../../packages/process/serve.ts";

const ROUND_MS = 15_000;

/** Looks at the others in rounds; `open` says whether each round reaches them. */
async function after(open: readonly boolean[], others = ["10.0.0.8", "10.0.0.9"], reported: EnforcementState[] = []) {
  const clock = createFakeClock(0);
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  let round = -1;
  const reaches = (address: string) => Promise.resolve(address === "10.0.0.9" || open[round] === true);
  const enforcement = watchEnforcement(() => (round++, others), reaches, clock, stop.signal, (state) => {
    reported.push(state);
  });
  for (let n = 1; n < open.length; n++) {
    await setImmediate();
    await clock.advance(ROUND_MS);
  }
  await setImmediate();
  return { problem: enforcement.problem(), state: enforcement.state(), reported };
}

test("a proxy that reaches all others again and again allows nothing", async () => {
  const { problem, state, reported } = await after([true, true, true, true]);
  expect(problem).toMatch("does not enforce NetworkPolicies");
  expect(state).toBe("not_enforced");
  expect(reported).toEqual(["unknown", "not_enforced"]);
});

test.each<[EnforcementState, boolean[]]>([
  ["unknown", [true, true, true]],
  ["unknown", [true, true, true, false, true]],
  ["enforced", [false, false, false, false, false]],
  ["enforced", [true, true, true, true, false]],
])(
  "a new Pod may be open for a moment, and one that is closed shows that somebody enforces: %s",
  async (state, open) => {
    expect(await after(open)).toMatchObject({ problem: undefined, state });
  },
);

test("with a single proxy, nothing is known", async () => {
  expect(await after([true, true, true, true, true, true], [])).toMatchObject({
    ...{ problem: undefined, state: "unknown", reported: ["unknown"] },
  });
});

test("a state that stays is reported every five minutes", async () => {
  const { reported } = await after(Array.from({ length: 42 }, () => false));
  expect(reported).toEqual(["enforced", "enforced", "enforced"]);
});

test("canConnect() tells an open port from a closed one", async () => {
  const server = await serve({ fetch: () => new Response() }, { port: 0, host: "127.0.0.1", log: () => {} });
  expect(await canConnect("127.0.0.1", server.port)).toBe(true);
  await server.stop();
  expect(await canConnect("127.0.0.1", server.port)).toBe(false);
});
