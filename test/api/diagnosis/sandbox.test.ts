/** Why a Sandbox is as it is: what somebody wanted, what the API server refuses, its volumes, and who is silent. @module */
import { expect, test } from "vitest";
import { why } from "../../../packages/api/diagnosis/why.ts";
import {
  aCondition,
  ago,
  aPod,
  aWaitingSandbox,
  type Case,
  expectCause,
  notReady,
  NOW,
  podFacts,
  QUOTA,
  sandboxFacts,
  SUBJECT,
  syncError,
  unresolved,
} from "./facts.ts";

const lost = (times: string) => ({
  conditions: [
    { ...aCondition("Ready", "False", "DependenciesNotReady", "Pod does not exist"), lastTransitionTime: ago(5) },
    aCondition("PodLost", "True", "PodDeleted", `Pod has disappeared ${times}, and was made again at 12:00`),
  ],
});

const PODS_FORBIDDEN =
  'pods "demo" is forbidden: User "ann" cannot get resource "pods" in API group "" in the namespace "team-a"';

const cases: Case[] = [
  {
    name: "its former Pod, whatever became of that",
    facts: podFacts({
      ...aPod({ phase: "Failed" }),
      metadata: { ...aPod().metadata, deletionTimestamp: ago(2) },
    }),
    want: ["PodTerminating", "Pod/demo", false],
    says: "another one follows",
  },
  {
    name: "nothing",
    facts: sandboxFacts({}, { sandbox: null }),
    want: ["NotFound", "Sandbox/demo", true],
    says: "does not exist",
  },
  {
    name: "it may not be read",
    facts: { subject: SUBJECT, unreadable: [{ what: "sandboxes", message: "forbidden" }] },
    want: ["NotReady", "Sandbox/demo", false],
    says: "could not be read",
  },
  {
    name: "suspended",
    facts: sandboxFacts({ spec: { operatingMode: "Suspended" } }),
    want: ["Suspended", "Sandbox/demo", true],
    says: "suspended",
  },
  {
    name: "expired",
    facts: sandboxFacts({ spec: { shutdownTime: ago(1) } }),
    want: ["Expired", "Sandbox/demo", true],
    says: ago(1),
  },
  {
    name: "expired, by its status",
    facts: sandboxFacts({ status: notReady("SandboxExpired") }),
    want: ["Expired", "Sandbox/demo", true],
    says: "expired",
  },
  {
    name: "a Pod that keeps disappearing",
    facts: sandboxFacts({ status: lost("3 times") }),
    want: ["PodLost", "Sandbox/demo", false],
    says: "has disappeared 3 times",
  },
  {
    name: "a Pod that has disappeared once",
    facts: sandboxFacts({ metadata: { creationTimestamp: ago(5) }, status: lost("once") }),
    want: ["Starting", "Sandbox/demo", false],
    says: "is starting",
  },
  {
    name: "two Pods",
    facts: sandboxFacts({ status: notReady("MultiplePods") }),
    want: ["MultiplePods", "Sandbox/demo", true],
    says: "More than one Pod",
  },
  {
    name: "a Pod that has failed",
    facts: podFacts(
      aPod({
        phase: "Failed",
        containerStatuses: [{ name: "main", state: { terminated: { exitCode: 3, reason: "Error" } } }],
      }),
    ),
    want: ["PodFailed", "Pod/demo", true],
    says: "exit code 3",
  },
  {
    name: "a Pod that was evicted",
    facts: podFacts(aPod({ phase: "Failed", reason: "Evicted", message: "The node was low on memory." })),
    want: ["PodEvicted", "Pod/demo", true],
    says: "low on memory",
  },
  {
    name: "a Pod that has ended, by the condition alone",
    facts: sandboxFacts({ status: { conditions: [aCondition("Finished", "True", "PodSucceeded")] } }),
    want: ["PodSucceeded", "Pod/demo", true],
    says: "finished its work",
  },
  {
    name: "an image, by the condition alone",
    facts: {
      subject: SUBJECT,
      sandbox: aWaitingSandbox({
        status: { conditions: [aCondition("ContainersFailing", "True", "ImagePullFailed", "x: not found")] },
      }),
    },
    want: ["ImageNotFound", "Pod/demo", true],
    says: "not found",
  },
  {
    name: "no node, by the condition alone",
    facts: {
      subject: SUBJECT,
      sandbox: aWaitingSandbox({
        status: { conditions: [aCondition("PodScheduled", "False", "Unschedulable", "0/3 nodes")] },
      }),
    },
    want: ["Unschedulable", "Pod/demo", false],
    says: "0/3 nodes",
  },
  {
    name: "nobody has looked at it",
    facts: sandboxFacts({ status: { conditions: [] } }),
    want: ["ControllerSilent", "Sandbox/demo", false],
    says: "yet",
  },
  {
    name: "nobody has looked at its new spec",
    facts: sandboxFacts({
      metadata: {
        generation: 2,
        managedFields: [{ time: ago(35), fieldsV1: { "f:spec": {} } }, { time: ago(1), subresource: "status" }],
      },
      status: { observedGeneration: 1 },
    }),
    want: ["ControllerSilent", "Sandbox/demo", false],
    says: "since its spec changed",
  },
  {
    name: "nobody has looked at its new spec, and of what a claim was given it is not said when that changed",
    facts: sandboxFacts({
      metadata: { generation: 2, annotations: { "agents.x-k8s.io/assigned-at": ago(35) } },
      status: { observedGeneration: 1 },
    }),
    want: ["ControllerSilent", "Sandbox/demo", false],
    says: "since its spec changed",
  },
  {
    name: "a hook that does not answer",
    facts: sandboxFacts({ status: { conditions: [] } }, {
      events: [syncError("sync hook failed: http error: no such host")],
    }),
    want: ["HookFailing", "Sandbox/demo", false],
    says: "no such host",
  },
  {
    name: "a hook that has answered since",
    facts: sandboxFacts({}, {
      events: [{ ...syncError("sync hook failed: http error: no such host"), first: ago(60), last: ago(35) }],
    }),
    want: ["Starting", "Sandbox/demo", false],
    says: "starting",
  },
  {
    name: "a hook that had nothing to say beyond making the Pod",
    facts: podFacts(aPod(), { sandbox: { ...aWaitingSandbox(), status: {} } }),
    want: ["Starting", "Sandbox/demo", false],
    says: "it has no status yet",
  },
  {
    name: "its Pod may not be read, though it has been starting for long",
    facts: sandboxFacts({ metadata: { creationTimestamp: ago(90) } }, {
      unreadable: [{ what: "pods", message: PODS_FORBIDDEN }],
    }),
    want: ["PodsForbidden", "Sandbox/demo", false],
    says: 'Cannot tell why Sandbox "demo" is not ready: you may not read Pods in namespace "team-a"',
  },
  {
    name: "its Pod may not be read, and it is young",
    facts: sandboxFacts({}, { unreadable: [{ what: "pods", message: PODS_FORBIDDEN }] }),
    want: ["Starting", "Sandbox/demo", false],
    says: "is starting",
  },
  {
    name: "nothing says why",
    facts: sandboxFacts({
      status: {
        conditions: [{ ...aCondition("Ready", "False", "DependenciesNotReady"), lastTransitionTime: ago(90) }],
      },
    }),
    want: ["NotReady", "Sandbox/demo", false],
    says: "nothing that could be read",
  },
];

test.for(cases)("$name: $want.0", expectCause);

test("a Sandbox that is Ready is well; one whose spec has changed since is not called so", () => {
  const status = { observedGeneration: 1, conditions: [aCondition("Ready", "True", "DependenciesReady")] };
  expect(why(sandboxFacts({ status }), NOW)).toMatchObject({
    code: "Ready",
    isOk: true,
    object: SUBJECT,
    chain: [SUBJECT],
  });
  expect(why(sandboxFacts({ status, metadata: { generation: 2 } }), NOW).code).not.toBe("Ready");
});

test("what could not be read is listed if the cause is a guess, and not otherwise", () => {
  const unreadable = [{ what: "events", message: "events is forbidden" }];
  const told = { object: SUBJECT, where: "cannot read events", text: "events is forbidden" };
  expect(why(sandboxFacts({}, { unreadable }), NOW).evidence).toContainEqual(told);
  expect(why(sandboxFacts(unresolved("refused", QUOTA), { unreadable }), NOW).evidence).not.toContainEqual(told);
});
