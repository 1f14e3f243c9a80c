/** @module */
import { expect, test } from "vitest";
import { isReady, memberState } from "../../../hooks/sandboxwarmpool/view.ts";
import { aMember, type STATUS } from "../../pools.ts";

const states: Record<keyof typeof STATUS, string> = {
  ready: "ready",
  readyWithoutAddress: "coming",
  starting: "starting",
  coming: "coming",
  none: "coming",
  finished: "lost",
  suspended: "lost",
  expired: "lost",
  invalid: "lost",
  refused: "lost",
  overQuota: "lost",
  unschedulable: "coming",
  gated: "coming",
  unscheduled: "coming",
  imagePull: "coming",
  crashing: "starting",
};
test.for(Object.entries(states))("a member whose status is %s is %s", ([state, want]) => {
  const member = aMember(1, { state: state as keyof typeof STATUS });
  expect(memberState(member)).toBe(want);
  expect(isReady(member)).toBe(state === "ready" || state === "readyWithoutAddress");
});

test.for([
  ["is to be suspended", { operatingMode: "Suspended" }],
  ["is to shut down some time", { shutdownTime: "2030-01-01T00:00:00Z" }],
])("a Ready member that %s is lost: users have a hand in it", ([, spec]) => {
  expect(memberState(aMember(1, { spec: spec as object }))).toBe("lost");
});

test("a member that is Ready although its Pod has finished is lost", () => {
  const [ready, finished] = [aMember(1), aMember(1, { state: "finished" })].map(({ status }) =>
    status?.conditions ?? []
  );
  const conditions = [...(ready ?? []), ...(finished ?? []).filter(({ type }) => type === "Finished")];
  expect(memberState(aMember(1, { status: { conditions, podIPs: ["10.1.0.7"] } }))).toBe("lost");
});
