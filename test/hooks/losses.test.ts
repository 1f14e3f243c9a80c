/** What each hook takes away, as its guard counts it: what the parent's spec asks for in so many words is no loss. @module */
import { expect, test } from "vitest";
import { childKey } from "../../packages/webhook/metacontroller.ts";
import { DEFAULT_SETTINGS, makeHooks } from "../../hooks/all.ts";
import { aPoolRequest } from "../poolcalls.ts";
import { aClaim, aColdSandbox, aMember, aPool } from "../pools.ts";
import { aChild, aReadyPod, aRequest, aSandbox, mapOf, NOW } from "../sandboxes.ts";
import { aTemplate, aTemplateRequest } from "../templates.ts";

const PAST = "2026-11-21T11:00:00Z";
const expired = (reason: string) => ({
  conditions: [{ type: "Ready", status: "False", reason, message: "", lastTransitionTime: PAST }],
});
const members = (count: number, labels: object = {}) =>
  Array.from({ length: count }, (_, index) => aMember(index + 1, { metadata: { labels } }));

function lossesOf(name: string, request: unknown): string[] {
  const [hook] = makeHooks([name], DEFAULT_SETTINGS);
  const outcome = hook!.sync(request, NOW);
  if ("refusal" in outcome) throw new Error(outcome.refusal.message);
  return outcome.losses.map(({ child, what }) => `${childKey(child)} ${what}`);
}

const service = aChild("Service", { spec: { clusterIP: "None" } });
const policy = aChild("NetworkPolicy", {
  apiVersion: "networking.k8s.io/v1",
  metadata: { name: "python-network-policy" },
});
const claim = aClaim("c", {
  spec: { lifecycle: { shutdownTime: PAST, shutdownPolicy: "Retain" } },
  status: { ...expired("ClaimExpired"), sandbox: { name: "c" } },
});
const CASES: { name: string; hook: string; request: unknown; want: string[] }[] = [
  {
    name: "a suspended Sandbox loses its Pod because it says so",
    hook: "sandbox",
    request: aRequest(aSandbox({ spec: { operatingMode: "Suspended" } }), [aReadyPod()]),
    want: [],
  },
  {
    name: "so does one without a Service",
    hook: "sandbox",
    request: aRequest(aSandbox({ spec: { service: false } }), [aReadyPod(), service]),
    want: [],
  },
  {
    name: "an expired one does by the clock",
    hook: "sandbox",
    request: aRequest(aSandbox({ spec: { shutdownTime: PAST }, status: expired("SandboxExpired") }), [aReadyPod()]),
    want: ["Pod/demo deleted"],
  },
  {
    name: "and so does an expired claim",
    hook: "sandboxclaim",
    request: { object: claim, attachments: mapOf([aColdSandbox(claim)]), related: {}, finalizing: false },
    want: ["Sandbox/c deleted"],
  },
  {
    name: "a template without a policy says so",
    hook: "sandboxtemplate",
    request: aTemplateRequest(aTemplate({ spec: { networkPolicyManagement: "Unmanaged" } }), [policy]),
    want: [],
  },
  {
    name: "a pool that is scaled down marks as many as its spec demands",
    hook: "sandboxwarmpool",
    request: aPoolRequest({ pool: aPool({ spec: { replicas: 1 } }), sandboxes: members(3) }),
    want: [],
  },
  {
    name: "members that were a claim's are lost",
    hook: "sandboxwarmpool",
    request: aPoolRequest({
      pool: aPool({ spec: { replicas: 1 } }),
      sandboxes: members(1, { "agents.x-k8s.io/claim-uid": "gone" }),
    }),
    want: ["Sandbox/warm-1 drained"],
  },
  {
    name: "marked ones were lost when they were marked",
    hook: "sandboxwarmpool",
    request: aPoolRequest({
      pool: aPool({ spec: { replicas: 0 }, status: { sequence: 9 } }),
      sandboxes: members(2, { "agents.x-k8s.io/draining": "stale" }),
    }),
    want: [],
  },
];

test.for(CASES)("$name", ({ hook, request, want }) => {
  expect(lossesOf(hook, request)).toEqual(want);
});
