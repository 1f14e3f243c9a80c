/** When an answer may ask to be called again. @module */
import { expect, test } from "vitest";
import * as z from "zod";
import { compositeCalls, decoratorCalls } from "../../packages/webhook/hook.ts";
import { guardResync } from "../../packages/webhook/guard.ts";
import { soonestResync } from "../../packages/webhook/metacontroller.ts";
import { aRequest, aSandbox, NOW } from "../sandboxes.ts";

const toy = { name: "x", parentSchema: z.looseObject({}), deletionReasons: "any", childRules: "any" } as const;
const DAY = 86_400;

test.for([0.001, 0.0299, 0, -0, -1, -Infinity, NaN, Infinity, 1e10])(
  "an answer that asks to be called again in %d s is refused",
  (resyncAfterSeconds) => {
    const refusal = {
      message: `resyncAfterSeconds would be ${resyncAfterSeconds}, which calls the hook without end or never`,
      children: [],
    };
    const sync = () => ({ status: {}, children: [], resyncAfterSeconds });
    expect(compositeCalls({ ...toy, type: "composite", sync }).sync(aRequest(aSandbox()), NOW)).toEqual({ refusal });
    const decorate = () => ({ attachments: [], resyncAfterSeconds });
    const request = { object: aSandbox(), attachments: {}, related: {}, finalizing: false };
    expect(decoratorCalls({ ...toy, type: "decorator", sync: decorate }).sync(request, NOW)).toEqual({ refusal });
  },
);

test.for([undefined, 0.03, 0.2, 60, DAY, 9e9])("%s s is no reason to refuse it", (seconds) => {
  expect(guardResync(seconds)).toBeUndefined();
});

test.for<[(number | undefined)[], number | undefined]>([
  [[], undefined],
  [[undefined, undefined], undefined],
  [[undefined, 5, 300], 5],
  [[5, 0.0001], 0.03],
  [[-5], 0.03],
  [[8e12, Infinity], DAY],
])("of %j s, the soonest that the guard allows is %s", ([waits, want]) => {
  expect(soonestResync(...waits)).toBe(want);
  expect(guardResync(soonestResync(...waits))).toBeUndefined();
});
