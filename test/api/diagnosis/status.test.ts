/** What column STATUS shows of Sandboxes, claims and pools, and that `why` agrees with it. @module */
import { expect, test } from "vitest";
import { policyNotInForce } from "../../../packages/api/claims/problem.ts";
import type { Facts, PodFact } from "../../../packages/api/diagnosis/facts.ts";
import { why } from "../../../packages/api/diagnosis/why.ts";
import { WOKEN_AT_ANNOTATION } from "../../../packages/api/router/protocol.ts";
import { statusText, type Tone } from "../../../packages/summary/status.ts";
import { aClaim, aPool } from "../../pools.ts";
import {
  aCondition,
  ago,
  aPod,
  aWaitingSandbox,
  claimFacts,
  JOB,
  NOW,
  podFacts,
  statusIn,
  SUBJECT,
  waiting,
} from "./facts.ts";

const READY = { conditions: [aCondition("Ready", "True", "DependenciesReady")] };
const ready = (over: object = {}) => aWaitingSandbox({ ...over, status: READY });
const alone = (...conditions: ReturnType<typeof aCondition>[]): Facts => ({
  subject: SUBJECT,
  sandbox: aWaitingSandbox({
    status: { conditions: [aCondition("Ready", "False", "DependenciesNotReady"), ...conditions] },
  }),
});
const stuck = (reason: string, message = "", more: object = {}) =>
  podFacts(aPod({ containerStatuses: [waiting(reason, message, more)] }));
const pending = (message: string) =>
  podFacts({
    ...aPod({ conditions: [{ type: "PodScheduled", status: "False", reason: "Unschedulable", message }] }),
    spec: {},
  });

/** A container that crashed, and runs again since a moment; its Pod is Ready between the two. */
const between = (restartCount: number, runsFor: number, ranFor = 2): PodFact =>
  aPod({
    phase: "Running",
    containerStatuses: [{
      name: "main",
      ready: true,
      restartCount,
      state: { running: { startedAt: ago(runsFor) } },
      lastState: {
        terminated: {
          exitCode: 3,
          reason: "Error",
          startedAt: ago(runsFor + 40 + ranFor),
          finishedAt: ago(runsFor + 40),
        },
      },
    }],
  });

const claim = (over: object, more: Partial<Facts> = {}): Facts => ({
  subject: JOB,
  claim: aClaim("job", over),
  ...more,
});
const bound = (reason: string, more: Partial<Facts> = {}) =>
  claim({ status: { sandbox: { name: "demo" }, conditions: [aCondition("Ready", "False", reason)] } }, more);
const pool = (readyReplicas: number, ...conditions: ReturnType<typeof aCondition>[]): Facts => {
  const found = aPool({ status: { readyReplicas, observedGeneration: 1, conditions } });
  return { subject: { kind: "SandboxWarmPool", namespace: "team-a", name: "warm" }, pool: found };
};
const woken = { annotations: { [WOKEN_AT_ANNOTATION]: ago(5) } };

test.for<[name: string, facts: Facts, text: string, tone: Tone]>([
  ["a Ready Sandbox", { subject: SUBJECT, sandbox: ready() }, "Running", "good"],
  ["a young Sandbox", { subject: SUBJECT, sandbox: aWaitingSandbox() }, "Starting", "progress"],
  [
    "a Sandbox that a router has just resumed",
    { subject: SUBJECT, sandbox: aWaitingSandbox({ metadata: woken }) },
    "Waking",
    "progress",
  ],
  [
    "a Sandbox that somebody has just resumed",
    {
      subject: SUBJECT,
      sandbox: aWaitingSandbox({ status: { conditions: [aCondition("Ready", "False", "SandboxSuspended")] } }),
    },
    "Waking",
    "progress",
  ],
  ["an image", stuck("ErrImagePull", "x: not found"), "ImagePullBackOff", "bad"],
  ["the same, a moment later", stuck("ImagePullBackOff", "Back-off pulling"), "ImagePullBackOff", "bad"],
  [
    "an image, by the condition",
    alone(aCondition("ContainersFailing", "True", "ImagePullFailed")),
    "ImagePullBackOff",
    "bad",
  ],
  [
    "a crash loop",
    stuck("CrashLoopBackOff", "back-off", { restartCount: 6, lastState: { terminated: { exitCode: 3 } } }),
    "CrashLoopBackOff (6 restarts, exit code 3)",
    "bad",
  ],
  [
    "too little memory",
    stuck("CrashLoopBackOff", "back-off", {
      restartCount: 1,
      lastState: { terminated: { exitCode: 137, reason: "OOMKilled" } },
    }),
    "CrashLoopBackOff (1 restart, OOMKilled)",
    "bad",
  ],
  [
    "a crash loop, by the condition",
    alone(aCondition("ContainersFailing", "True", "ContainerCrashing")),
    "CrashLoopBackOff",
    "bad",
  ],
  [
    "a crash loop between two crashes",
    { subject: SUBJECT, sandbox: ready(), pod: between(4, 30) },
    "CrashLoopBackOff (4 restarts, exit code 3)",
    "bad",
  ],
  [
    "a crash loop whose crash the Sandbox does not show yet",
    {
      subject: SUBJECT,
      sandbox: ready(),
      pod: aPod({
        phase: "Running",
        containerStatuses: [waiting("CrashLoopBackOff", "back-off", {
          restartCount: 4,
          lastState: { terminated: { exitCode: 3 } },
        })],
      }),
    },
    "CrashLoopBackOff (4 restarts, exit code 3)",
    "bad",
  ],
  [
    "a container that has survived its back-off",
    { subject: SUBJECT, sandbox: ready(), pod: between(2, 30) },
    "Running",
    "good",
  ],
  [
    "a container that was restarted after an hour of work",
    { subject: SUBJECT, sandbox: ready(), pod: between(4, 30, 3600) },
    "Running",
    "good",
  ],
  [
    "a node that is too small",
    pending(
      "0/3 nodes are available: 2 Insufficient cpu, 1 Insufficient memory. no new claims to deallocate, preemption: 0/3 " +
        "nodes are available: 3 Preemption is not helpful for scheduling.",
    ),
    "Unschedulable (Insufficient cpu, Insufficient memory)",
    "bad",
  ],
  [
    "no node, by the condition",
    alone(aCondition("PodScheduled", "False", "Unschedulable", "0/1 nodes are available: 1 Insufficient cpu.")),
    "Unschedulable (Insufficient cpu)",
    "bad",
  ],
  ["a Secret", stuck("CreateContainerConfigError", 'secret "keys" not found'), "CreateContainerConfigError", "bad"],
  ["a command", stuck("RunContainerError", "exec: not found"), "RunContainerError", "bad"],
  [
    "suspended",
    { subject: SUBJECT, sandbox: aWaitingSandbox({ spec: { operatingMode: "Suspended" } }) },
    "Suspended",
    "off",
  ],
  [
    "suspending",
    {
      subject: SUBJECT,
      sandbox: aWaitingSandbox({
        spec: { operatingMode: "Suspended" },
        status: { conditions: [aCondition("Suspended", "False", "PodTerminating")] },
      }),
    },
    "Suspending",
    "progress",
  ],
  ["deleted", { subject: SUBJECT, sandbox: ready({ metadata: { deletionTimestamp: ago(1) } }) }, "Terminating", "off"],
  ["expired", { subject: SUBJECT, sandbox: ready({ spec: { shutdownTime: ago(1) } }) }, "Expired", "off"],
  ["finished", alone(aCondition("Finished", "True", "PodSucceeded")), "Finished", "off"],
  [
    "failed",
    podFacts(aPod({ phase: "Failed", containerStatuses: [{ name: "main", state: { terminated: { exitCode: 2 } } }] })),
    "Failed (exit code 2)",
    "bad",
  ],
  ["a claim that is Ready", claim({ status: { sandbox: { name: "demo" }, ...READY } }), "Running", "good"],
  ["a claim without a Sandbox", claimFacts({}), "Pending", "progress"],
  ["a claim that no binder has looked at", claim({ metadata: { creationTimestamp: ago(60) } }), "Pending", "bad"],
  [
    "a Sandbox that no hook has looked at",
    {
      subject: SUBJECT,
      sandbox: aWaitingSandbox({ metadata: { creationTimestamp: ago(90) }, status: { conditions: [] } }),
    },
    "NotReconciled",
    "bad",
  ],
  [
    "a claim that has waited for long",
    claim({
      metadata: { creationTimestamp: ago(60) },
      status: { conditions: [aCondition("Ready", "False", "SandboxMissing")] },
    }),
    "Pending",
    "bad",
  ],
  [
    "a claim without a pool",
    claim({ status: { conditions: [aCondition("Ready", "False", "WarmPoolNotFound")] } }),
    "WarmPoolNotFound",
    "bad",
  ],
  [
    "a claim without a template",
    claim({
      status: { conditions: [aCondition("Ready", "False", "TemplateNotFound", 'SandboxTemplate "py" not found')] },
    }),
    "TemplateNotFound",
    "bad",
  ],
  [
    "a claim whose template has no policy",
    claim({
      status: {
        conditions: [aCondition("Ready", "False", "ReconcilerError", policyNotInForce("py", "is missing").message)],
      },
    }),
    "Unfenced",
    "bad",
  ],
  ["a claim whose Sandbox is suspended, and was not read", bound("SandboxSuspended"), "Suspended", "off"],
  ["a claim whose Sandbox has finished, and was not read", bound("PodSucceeded"), "Finished", "off"],
  [
    "a claim whose Sandbox cannot pull its image",
    bound("DependenciesNotReady", { sandbox: aWaitingSandbox(), ...stuck("ErrImagePull"), subject: JOB }),
    "ImagePullBackOff",
    "bad",
  ],
  [
    "a Ready claim whose Sandbox crashes again and again",
    claim({ status: { sandbox: { name: "demo" }, ...READY } }, { sandbox: ready(), pod: between(4, 30) }),
    "CrashLoopBackOff (4 restarts, exit code 3)",
    "bad",
  ],
  ["a full pool", pool(3, aCondition("Progressing", "True", "Full")), "Full", "good"],
  ["a pool that fills", pool(1, aCondition("Progressing", "True", "Filling")), "Filling", "progress"],
  ["a pool that cannot fill", pool(1, aCondition("Progressing", "False", "QuotaExceeded")), "QuotaExceeded", "bad"],
  [
    "a pool whose image is missing",
    pool(0, aCondition("Progressing", "False", "ImagePullFailed")),
    "ImagePullBackOff",
    "bad",
  ],
  [
    "a full pool whose template has no policy",
    pool(3, { ...aCondition("NetworkPolicy", "False", "NetworkPolicyMissing"), lastTransitionTime: ago(60) }),
    "Unfenced",
    "bad",
  ],
])("status: %s", ([, facts, text, tone]) => {
  const status = statusIn(facts)!;
  expect([statusText(status), status.tone]).toEqual([text, tone]);
  expect(why(facts, NOW).isOk).toBe(tone === "good");
  if (tone !== "good") expect(status.detail).toMatch(/\S/);
});

test("status: what is set up for long is not called starting for ever", () => {
  const since = (seconds: number) => ({
    ...aPod(),
    metadata: { ...aPod().metadata, creationTimestamp: ago(seconds) },
  });
  const old = aWaitingSandbox({
    metadata: { creationTimestamp: ago(900) },
    status: { conditions: [{ ...aCondition("Ready", "False", "DependenciesNotReady"), lastTransitionTime: ago(900) }] },
  });
  expect(statusIn({ subject: SUBJECT, sandbox: old, pod: since(120) })).toMatchObject({
    name: "Starting",
    tone: "progress",
  });
  expect(statusIn({ subject: SUBJECT, sandbox: old, pod: since(900) })).toMatchObject({
    name: "NotReady",
    tone: "bad",
  });
});
