/** Facts for tests of diagnoses: a claim of pool `warm`, its template `python`, its Sandbox, and that one's Pod. @module */
import type { Sandbox } from "../../../packages/api/sandbox.ts";
import { expect } from "vitest";
import type { ContainerFact, Facts, PodFact, PodSpecFact, Subject } from "../../../packages/api/diagnosis/facts.ts";
import { why } from "../../../packages/api/diagnosis/why.ts";
import { claimStatus, poolStatus, sandboxStatus, type Status } from "../../../packages/summary/status.ts";
import type { Condition } from "../../../packages/api/objects/conditions.ts";
import { aClaim, aPool, type Over } from "../../pools.ts";
import { aSandbox, NOW } from "../../sandboxes.ts";
import { aTemplate } from "../../templates.ts";

export { NOW };

/** The time so many seconds before {@link NOW}. */
export function ago(seconds: number): string {
  return new Date(NOW.getTime() - seconds * 1000).toISOString().replace(".000Z", "Z");
}

export function aCondition(type: string, status: Condition["status"], reason: string, message = reason): Condition {
  return { type, status, reason, message, lastTransitionTime: ago(30) };
}

/** The claim `job` as a subject. */
export const JOB = { kind: "SandboxClaim", namespace: "team-a", name: "job" } as const;

/** The facts of the claim `job` that has no Sandbox: its pool is filling. */
export function claimFacts(claim: Over, more: Partial<Facts> = {}): Facts {
  return {
    subject: JOB,
    claim: aClaim("job", claim),
    pool: aPool({ status: { observedGeneration: 1, conditions: [aCondition("Progressing", "True", "Filling")] } }),
    template: aTemplate(),
    sandbox: null,
    pod: null,
    ...more,
  };
}

/** The Sandbox `demo` that is the subject, and says that it waits for its Pod. */
export function aWaitingSandbox(over: Parameters<typeof aSandbox>[0] = {}): Sandbox {
  const { status, metadata, spec } = over;
  return aSandbox({
    metadata: { creationTimestamp: ago(40), ...metadata },
    ...(spec ? { spec } : {}),
    status: {
      conditions: [aCondition("Ready", "False", "DependenciesNotReady", "Pod exists with phase: Pending")],
      ...status,
    },
  });
}

export const SUBJECT: Subject = { kind: "Sandbox", namespace: "team-a", name: "demo" };

/** The Pod of `demo`, scheduled and with one container that waits. */
export function aPod(status: Partial<NonNullable<PodFact["status"]>> = {}, spec: PodSpecFact = {}): PodFact {
  return {
    metadata: {
      name: "demo",
      namespace: "team-a",
      uid: "uid-pod",
      creationTimestamp: ago(40),
      ownerReferences: [{
        apiVersion: "agents.x-k8s.io/v1beta1",
        kind: "Sandbox",
        name: "demo",
        uid: "uid-demo",
        controller: true,
      }],
    },
    spec: { nodeName: "node-1", containers: [{ name: "main", image: "busybox" }], ...spec },
    status: {
      phase: "Pending",
      conditions: [{ type: "PodScheduled", status: "True", lastTransitionTime: ago(39) }],
      containerStatuses: [waiting("ContainerCreating")],
      ...status,
    },
  };
}

export function waiting(reason: string, message?: string, more: Partial<ContainerFact> = {}): ContainerFact {
  return {
    name: "main",
    image: "busybox",
    ready: false,
    state: { waiting: { reason, ...(message === undefined ? {} : { message }) } },
    ...more,
  };
}

/** An Event about the Pod `demo`, five seconds old. */
export function anEvent(reason: string, message: string, kind = "Pod", name = "demo") {
  const uid = kind === "Pod" ? "uid-pod" : `uid-${name}`;
  return { uid, object: { kind, namespace: "team-a", name }, reason, message, first: ago(20), last: ago(5) };
}

/** Facts about the Sandbox `demo` with a Pod. */
export function podFacts(pod: PodFact, more: Partial<Facts> = {}): Facts {
  return { subject: SUBJECT, sandbox: aWaitingSandbox(), pod, ...more };
}

/** Facts, and what is to be found in them. */
export interface Case {
  name: string;
  facts: Facts;
  /** Code, culprit such as `Pod/demo`, and whether waiting is hopeless. */
  want: [code: string, culprit: string, hopeless: boolean];
  /** Part of the summary. */
  says: string;
}

/** Expects the cause, and what every finding about trouble has. */
export function expectCause({ facts, want, says }: Case): void {
  const { code, object, hopeless, summary, evidence, chain, isOk } = why(facts, NOW);
  expect([code, `${object.kind}/${object.name}`, hopeless]).toEqual(want);
  expect(summary).toContain(says);
  expect(evidence).not.toEqual([]);
  expect(isOk).toBe(false);
  expect(chain[0]).toEqual(facts.subject);
  expect(chain.at(-1)).toEqual(object);
  // A list must not call good what `why` finds something wrong with, though it knows less.
  expect(statusIn(facts)?.tone).not.toBe("good");
}

/** The status of the facts' subject, as lists show it; undefined: there is no such object. */
export function statusIn({ subject, claim, pool, sandbox, pod }: Facts): Status | undefined {
  if (subject.kind === "SandboxClaim") {
    return claim ? claimStatus(claim, sandbox ?? undefined, pod ?? undefined, NOW) : undefined;
  }
  if (subject.kind === "SandboxWarmPool") return pool ? poolStatus(pool, NOW) : undefined;
  return sandbox ? sandboxStatus(sandbox, pod ?? undefined, NOW) : undefined;
}

/** A label or annotation of the contract. */
export const KEY = (name: string) => `agents.x-k8s.io/${name}`;
/** Facts of the Sandbox, without a Pod. */
export const sandboxFacts = (over: Parameters<typeof aWaitingSandbox>[0], more: Partial<Facts> = {}): Facts => ({
  subject: SUBJECT,
  sandbox: aWaitingSandbox(over),
  pod: null,
  ...more,
});
/** A status that is not Ready for a reason. */
export const notReady = (reason: string, message = reason) => ({
  conditions: [aCondition("Ready", "False", reason, message)],
});
/** The keeper's word on what keeps a Pod from being made. */
export const unresolved = (state: string, message: string, generation = 1) => ({
  metadata: {
    annotations: {
      [KEY("unresolved")]: JSON.stringify({ generation, problems: [{ kind: "Pod", name: "demo", state, message }] }),
    },
  },
});
/** The API server's words for a quota that is used up. */
export const QUOTA =
  'pods "demo" is forbidden: exceeded quota: small, requested: pods=1, used: pods=4, limited: pods=4';
/** What Metacontroller tells of a failed sync. */
export const syncError = (message: string) => anEvent("SyncError", `Sync error: ${message}`, "Sandbox");
