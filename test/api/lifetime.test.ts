/** When a Sandbox ends that a router has let expire, and that was resumed or changed afterwards. @module */
import { describe, expect, test } from "vitest";
import { expiryPhase } from "../../hooks/sandbox/expiry.ts";
import { calledOff, idleExpiryText, lifetimeOf } from "../../packages/api/expiry.ts";
import type { Sandbox } from "../../packages/api/sandbox.ts";
import { sandboxExpiryVerdict } from "../../packages/keeper/expiry.ts";

const NOW = new Date("2026-06-01T12:00:00Z");
const SET = "2026-06-01T11:00:00Z";
const OWN = { shutdownTime: "2030-01-01T00:00:00Z", shutdownPolicy: "Retain" };
const text = idleExpiryText({ metadata: { uid: "u", generation: 3 }, spec: OWN }, SET);

/** As the router has left it, and with what somebody has changed since. */
function sandbox({ spec = {}, metadata = {} }: { spec?: object; metadata?: object } = {}): Sandbox {
  const annotations = { "router.agents.x-k8s.io/idle-expired": text };
  const ready = { type: "Ready", status: "False", reason: "SandboxExpired", message: "", lastTransitionTime: SET };
  return {
    apiVersion: "agents.x-k8s.io/v1beta1",
    kind: "Sandbox",
    metadata: { name: "a", namespace: "n", uid: "u", generation: 4, annotations, ...metadata },
    spec: { operatingMode: "Suspended", shutdownTime: SET, shutdownPolicy: "Delete", ...spec },
    status: { conditions: [ready] },
  } as unknown as Sandbox;
}

const cases: [string, Parameters<typeof sandbox>[0], boolean][] = [
  ["as the router left it", {}, true],
  ["resumed", { spec: { operatingMode: "Running" }, metadata: { generation: 5 } }, false],
  ["resumed and suspended again", { metadata: { generation: 6 } }, false],
  ["with an end of its user's", { spec: { shutdownTime: "2026-06-01T10:00:00Z" }, metadata: { generation: 5 } }, true],
  ["copied to another object", { metadata: { uid: "v", generation: 1 } }, false],
  ["copied to another object, of the same generation", { metadata: { uid: "v" } }, false],
  [
    "copied to another object that its user has given an end",
    { spec: { shutdownTime: "2026-06-01T10:00:00Z" }, metadata: { uid: "v", generation: 1 } },
    true,
  ],
  [
    "with a word that cannot be read",
    { metadata: { annotations: { "router.agents.x-k8s.io/idle-expired": "{" } } },
    true,
  ],
];

describe("a Sandbox that a router let expire", () => {
  test.for(cases)("%s", ([, change, isExpired]) => {
    const subject = sandbox(change);
    expect(calledOff(subject) === undefined).toBe(isExpired);
    expect(lifetimeOf(subject)).toEqual(isExpired ? subject.spec : OWN);
    expect(expiryPhase(subject, NOW)).toBe(isExpired ? "published" : "none");
    expect(sandboxExpiryVerdict(subject, NOW.getTime()).verdict).toBe(isExpired ? "delete" : "keep");
  });
});
