/** Bad deploys that would have their hooks called without end, or pools make too many members or none. @module */
import { rfc3339 } from "../../packages/api/objects/conditions.ts";
import { type Fault, pooled, since } from "./faulty.ts";

const again = (resyncAfterSeconds: number): Fault => (wish) => ({ ...wish, resyncAfterSeconds });

/** They, by what they do. */
export const BAD_LOOPS: Record<string, () => Fault> = {
  "asks to be called again at once": () => again(0.001),
  "asks to have been called again": () => again(-1),
  "asks to be called again in 300 years": () => again(300 * 366 * 86_400),
  "says with each call that Sandboxes have been so since now": () => since(rfc3339),
  "says that Sandboxes are so from tomorrow on": () => since((now) => rfc3339(new Date(now.getTime() + 86_400_000))),
  "says that Sandboxes are so since no time": () => since(() => "now"),
  "counts members that it does not make": () => pooled(({ sequence = 0 }) => ({ sequence: sequence + 1 })),
  "forgets which members pools have asked for": () => pooled(() => ({ batches: undefined })),
  "says with each call that members are on their way": () =>
    pooled(({ batches = [] }, now) => ({ batches: [...batches, { first: 1, at: now.toISOString() }] })),
  "says that what a quota refuses has come": () =>
    pooled(({ batches = [] }) => ({ batches: batches.map((batch) => ({ ...batch, arrived: 1000 })) })),
  "says with each call that pools have lost a member": () => pooled((_, now) => ({ lostAt: now.toISOString() })),
};
