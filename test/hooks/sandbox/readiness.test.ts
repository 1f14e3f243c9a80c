/** Ready: every rule, and which of two that both hold decides. @module */
import { expect, test } from "vitest";
import { readyVerdict } from "../../../hooks/sandbox/readiness.ts";
import { viewOf } from "../../../hooks/sandbox/view.ts";
import { aChild, aReadyPod, aRequest, aSandbox } from "../../sandboxes.ts";

const VOLUME = { volumeClaimTemplates: [{ metadata: { name: "data" }, spec: {} }] };
const problem = (state: string, kind = "Pod", name = "demo") => ({
  annotations: {
    "agents.x-k8s.io/unresolved": JSON.stringify({
      generation: 1,
      problems: [{ kind, name, state, message: `${kind} ${state}` }],
    }),
  },
});
const pod = (status: object) => aReadyPod({ status });
const service = aChild("Service");

const cases = [
  {
    name: "a shutdownTime that is no time",
    reason: "the Pod runs on, and the status reports it",
    spec: { shutdownTime: "2026-01-01T00:00:00+25:99" },
    children: [aReadyPod()],
    want: [
      "InvalidConfiguration",
      'Error seen: spec.shutdownTime "2026-01-01T00:00:00+25:99" cannot be read as a time',
    ],
  },
  { name: "no Pod", reason: "nothing was made yet", want: ["DependenciesNotReady", "Pod does not exist"] },
  {
    name: "Pod Pending",
    reason: "the phase is named",
    children: [pod({ phase: "Pending", podIPs: [], conditions: [] })],
    want: ["DependenciesNotReady", "Pod exists with phase: Pending"],
  },
  {
    name: "Pod Running, not Ready",
    reason: "a readiness probe has yet to succeed",
    children: [pod({ conditions: [{ type: "Ready", status: "False" }] })],
    want: ["DependenciesNotReady", "Pod is Running but not Ready"],
  },
  {
    name: "Pod Ready without an address",
    reason: "Ready promises an address",
    children: [pod({ podIPs: [] })],
    want: ["DependenciesNotReady", "Pod is Ready but has no podIPs yet"],
  },
  {
    name: "Pod Ready",
    reason: "no Service is asked for",
    children: [aReadyPod()],
    want: ["DependenciesReady", "Pod is Ready"],
  },
  {
    name: "a Service that is there",
    reason: "nobody asked, but it is there, so it counts",
    children: [aReadyPod(), service],
    want: ["DependenciesReady", "Pod is Ready; Service Exists"],
  },
  {
    name: "a Service that is asked for and missing",
    reason: "the Pod alone is not enough",
    spec: { service: true },
    children: [aReadyPod()],
    want: ["DependenciesNotReady", "Pod is Ready; Service does not exist"],
  },
  {
    name: "a Service that is there and unwanted",
    reason: "it is about to go and says nothing",
    spec: { service: false },
    children: [aReadyPod(), service],
    want: ["DependenciesReady", "Pod is Ready"],
  },
  {
    name: "a Ready Pod that is being deleted",
    reason: "the kubelet leaves it Ready until its containers have ended: clients would be sent to a Pod that goes",
    children: [aReadyPod({ metadata: { deletionTimestamp: "2026-11-21T11:59:50Z" } })],
    want: ["DependenciesNotReady", "Pod is terminating"],
  },
  {
    name: "a Ready Pod that is being deleted, with a Service",
    reason: "both are said, as ever",
    spec: { service: true },
    children: [aReadyPod({ metadata: { deletionTimestamp: "2026-11-21T11:59:50Z" } }), service],
    want: ["DependenciesNotReady", "Pod is terminating; Service Exists"],
  },
  {
    name: "Succeeded",
    reason: "a finished Pod is final",
    children: [pod({ phase: "Succeeded" })],
    want: ["PodSucceeded", "Pod completed successfully"],
  },
  {
    name: "Failed",
    reason: "a finished Pod is final",
    children: [pod({ phase: "Failed" })],
    want: ["PodFailed", "Pod failed"],
  },
  {
    name: "Failed by being deleted",
    reason: "the kubelet ends it first, another one follows, and clients give up on PodFailed",
    children: [aReadyPod({ metadata: { deletionTimestamp: "2026-11-21T11:59:50Z" }, status: { phase: "Failed" } })],
    want: ["DependenciesNotReady", "Pod exists with phase: Failed"],
  },
  {
    name: "suspended, Pod still there, Failed",
    reason: "suspension outranks what the Pod says",
    spec: { operatingMode: "Suspended" },
    children: [pod({ phase: "Failed" })],
    want: ["SandboxSuspended", "Sandbox is suspending"],
  },
  {
    name: "suspended",
    reason: "the Pod is gone",
    spec: { operatingMode: "Suspended" },
    want: ["SandboxSuspended", "Sandbox is suspended"],
  },
  {
    name: "two Pods, suspended",
    reason: "the fault outranks suspension",
    spec: { operatingMode: "Suspended" },
    children: [aReadyPod(), aReadyPod({ metadata: { name: "twin" } })],
    want: [
      "MultiplePods",
      "multiple Pods (2) are controlled by this Sandbox; refusing to choose or create a Pod",
    ],
  },
  {
    name: "a foreign Pod",
    reason: "somebody has to move it, so it is worth a retry",
    metadata: problem("taken"),
    want: ["ReconcilerError", "Error seen: Pod taken"],
  },
  {
    name: "a foreign Pod while suspended",
    reason: "no Pod is wanted, so it is no error",
    metadata: problem("taken"),
    spec: { operatingMode: "Suspended" },
    want: ["SandboxSuspended", "Sandbox is suspending"],
  },
  {
    name: "a Pod that can never be",
    reason: "only another spec helps",
    metadata: problem("invalid"),
    want: ["InvalidConfiguration", "Error seen: Pod invalid"],
  },
  {
    name: "a Pod that is forbidden for now",
    reason: "a quota may be lifted",
    metadata: problem("refused"),
    want: ["ReconcilerError", "Error seen: Pod refused"],
  },
  {
    name: "an old verdict on a Pod that is there now",
    reason: "what is observed beats what was said",
    metadata: problem("refused"),
    children: [aReadyPod()],
    want: ["DependenciesReady", "Pod is Ready"],
  },
  {
    name: "an impossible Service and a Ready Pod, suspended or not",
    reason: "errors outrank suspension, as they do for the reference",
    metadata: problem("invalid", "Service"),
    spec: { service: true, operatingMode: "Suspended" },
    want: ["InvalidConfiguration", "Error seen: Service invalid"],
  },
  {
    name: "an impossible volume and a foreign Pod",
    reason: "one of them may go away, so the whole is not final",
    metadata: {
      annotations: {
        "agents.x-k8s.io/unresolved": JSON.stringify({
          generation: 1,
          problems: [
            { kind: "Pod", name: "demo", state: "taken", message: "b" },
            { kind: "PersistentVolumeClaim", name: "data-demo", state: "invalid", message: "a" },
          ],
        }),
      },
    },
    want: ["ReconcilerError", "Error seen: a\nb"],
  },
  {
    name: "a Ready Pod on a volume that is not ours",
    reason: "it would not survive with the Sandbox",
    spec: VOLUME,
    children: [aReadyPod()],
    want: ["ReconcilerError", 'Error seen: PVC "data-demo" is not controlled by this Sandbox'],
  },
  {
    name: "a Ready Pod on its volume",
    reason: "the volume's phase does not matter",
    spec: VOLUME,
    children: [aReadyPod(), aChild("PersistentVolumeClaim", { metadata: { name: "data-demo" } })],
    want: ["DependenciesReady", "Pod is Ready"],
  },
];

test.for(cases)("Ready: $name", ({ spec, metadata, children, want, reason }) => {
  const sandbox = aSandbox({ ...(spec && { spec }), ...(metadata && { metadata }) });
  const verdict = readyVerdict(viewOf(aRequest(sandbox, children ?? [])));
  expect([verdict.reason, verdict.message], reason).toEqual(want);
  expect(verdict.status).toBe(want[0] === "DependenciesReady" ? "True" : "False");
});
