/** Why no node takes the Pod of a Sandbox, in the scheduler's words and by the nodes. @module */
import { test } from "vitest";
import type { Facts } from "../../../packages/api/diagnosis/facts.ts";
import { ago, anEvent, aPod, type Case, expectCause, podFacts } from "./facts.ts";

const of = (status: object, spec: object = {}, more: Partial<Facts> = {}) => podFacts(aPod(status, spec), more);
const unscheduled = (message: string, spec: object = {}, more: Partial<Facts> = {}) =>
  of(
    {
      conditions: [{
        type: "PodScheduled",
        status: "False",
        reason: "Unschedulable",
        message,
        lastTransitionTime: ago(30),
      }],
      containerStatuses: [],
    },
    { nodeName: "", ...spec },
    more,
  );
const gated = aPod(
  { conditions: [], containerStatuses: [] },
  { nodeName: "", schedulingGates: [{ name: "kueue.x-k8s.io/admission" }] },
);
const queued = { ...gated, metadata: { ...gated.metadata, labels: { "kueue.x-k8s.io/queue-name": "agents" } } };
const small = { metadata: { name: "n" }, status: { allocatable: { cpu: "2", memory: "4Gi" } } };
const tainted = {
  metadata: { name: "t", labels: { type: "kwok" } },
  spec: { taints: [{ key: "kwok.x-k8s.io/node", value: "fake", effect: "NoSchedule" }] },
};
const greedy = { containers: [{ name: "main", resources: { requests: { cpu: "64" } } }] };
const BOTH =
  "0/2 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, 1 node(s) had untolerated " +
  "taint(s). preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.";

const cases: Case[] = [
  {
    name: "a gate",
    facts: of({ conditions: [], containerStatuses: [] }, { nodeName: "", schedulingGates: [{ name: "a.io/gate" }] }),
    want: ["SchedulingGated", "Pod/demo", false],
    says: "a.io/gate",
  },
  {
    name: "the gate of Kueue",
    facts: podFacts(queued),
    want: ["SchedulingGated", "Pod/demo", false],
    says: `waits for quota in Kueue's queue "agents"`,
  },
  {
    name: "too little cpu free",
    facts: unscheduled(
      "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s). preemption: x",
    ),
    want: ["InsufficientResources", "Pod/demo", false],
    says: "Insufficient cpu",
  },
  {
    name: "more cpu than any node has, for more than a minute",
    facts: of(
      {
        conditions: [{
          type: "PodScheduled",
          status: "False",
          message: "0/1 nodes are available: 1 Insufficient cpu.",
          lastTransitionTime: ago(90),
        }],
      },
      { nodeName: "", ...greedy },
      { nodes: [small] },
    ),
    want: ["InsufficientResources", "Pod/demo", true],
    says: "it requests cpu 64, the biggest node has 2",
  },
  {
    name: "the same, and an autoscaler is at work",
    facts: of(
      {
        conditions: [{
          type: "PodScheduled",
          status: "False",
          message: "0/1 nodes are available: 1 Insufficient cpu.",
          lastTransitionTime: ago(90),
        }],
      },
      { nodeName: "", ...greedy },
      { nodes: [small], events: [anEvent("TriggeredScaleUp", "pool big 0->1")] },
    ),
    want: ["InsufficientResources", "Pod/demo", false],
    says: "the biggest node has 2",
  },
  {
    name: "taints on the nodes that match",
    facts: unscheduled(BOTH, { nodeSelector: { type: "kwok" } }, { nodes: [small, tainted] }),
    want: ["UntoleratedTaint", "Pod/demo", false],
    says: "kwok.x-k8s.io/node:NoSchedule",
  },
  {
    name: "a label that no node has, in the same words",
    facts: unscheduled(BOTH, { nodeSelector: { disk: "ssd" } }, { nodes: [small, tainted] }),
    want: ["NodeSelectorMismatch", "Pod/demo", false],
    says: "disk=ssd",
  },
  {
    name: "no nodes",
    facts: unscheduled("no nodes available to schedule pods"),
    want: ["NoNodes", "Pod/demo", false],
    says: "no nodes",
  },
  {
    name: "no scheduler",
    facts: of({ conditions: [], containerStatuses: [] }, { nodeName: "", schedulerName: "mine" }),
    want: ["SchedulerSilent", "Pod/demo", false],
    says: '"mine"',
  },
];

test.for(cases)("$name: $want.0", expectCause);
