/** @module */
import { expect, test } from "vitest";
import { expiryPhase, resyncAfter } from "../../../hooks/sandbox/expiry.ts";
import { syncSandbox } from "../../../hooks/sandbox/sync.ts";
import { aRequest, aSandbox, NOW } from "../../sandboxes.ts";

const EXPIRED = {
  conditions: [{
    type: "Ready",
    status: "False",
    reason: "SandboxExpired",
    message: "",
    lastTransitionTime: "2026-11-21T11:00:00Z",
  }],
};

const cases = [
  {
    name: "at a time that is none",
    reason: "nothing is deleted on a guess",
    time: "2026-01-01T00:00:00,5z",
    want: ["none", undefined],
  },
  { name: "never", reason: "no shutdownTime", want: ["none", undefined] },
  { name: "in a minute", reason: "called when it is due", time: "2026-11-21T12:01:00Z", want: ["none", 60] },
  { name: "in a fraction", reason: "fractions count", time: "2026-11-21T12:00:00.25Z", want: ["none", 0.25] },
  {
    name: "at once",
    reason: "a timer must not fire before the clock has moved",
    time: "2026-11-21T12:00:00.001Z",
    want: ["none", 0.05],
  },
  { name: "now", reason: "the moment itself counts as past", time: "2026-11-21T12:00:00Z", want: ["due", 0.05] },
  {
    name: "published",
    reason: "nothing left to wait for",
    time: "2026-11-21T11:00:00Z",
    status: EXPIRED,
    want: ["published", undefined],
  },
  {
    name: "moved ahead again",
    reason: "the time decides, not the status",
    time: "2026-11-21T13:00:00Z",
    status: EXPIRED,
    want: ["none", 3600],
  },
  {
    name: "in another zone",
    reason: "instants, not texts, are compared",
    time: "2026-11-21T13:00:00+01:00",
    want: ["due", 0.05],
  },
  {
    name: "in the year 9999",
    reason: "centuries of nanoseconds overflow",
    time: "9999-12-31T00:00:00Z",
    want: ["none", 86400],
  },
];

test.for(cases)("expiry $name", ({ time, status, want, reason }) => {
  const sandbox = aSandbox({ spec: time ? { shutdownTime: time } : {}, ...(status && { status }) });
  expect([expiryPhase(sandbox, NOW), resyncAfter(sandbox, NOW)], reason).toEqual(want);
});

test("what has expired before it was ever asked about gets no Pod and no Service", () => {
  const sandbox = aSandbox({ spec: { shutdownTime: "2026-11-21T11:00:00Z", service: true } });
  const { children, status } = syncSandbox(aRequest(sandbox), NOW, { clusterDomain: "cluster.local" });
  expect(children).toEqual([]);
  expect(status.conditions).toContainEqual(expect.objectContaining({ type: "Ready", reason: "SandboxExpired" }));
});
