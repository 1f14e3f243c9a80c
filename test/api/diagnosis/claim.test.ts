/** Why a claim is as it is: what it refers to, what it asks for, and its Sandbox. @module */
import { expect, test } from "vitest";
import { nameTaken, rightLacking } from "../../../packages/api/claims/problem.ts";
import { lackedRight } from "../../../packages/api/diagnosis/messages.ts";
import { why } from "../../../packages/api/diagnosis/why.ts";
import { aClaim, aPool } from "../../pools.ts";
import {
  aCondition,
  ago,
  anEvent,
  aPod,
  aWaitingSandbox,
  type Case,
  claimFacts,
  expectCause,
  JOB,
  KEY,
  NOW,
  waiting,
} from "./facts.ts";

const says = (reason: string, message = reason) => ({ conditions: [aCondition("Ready", "False", reason, message)] });
const BOUND = { sandbox: { name: "demo" }, ...says("DependenciesNotReady") };
const old = { metadata: { creationTimestamp: ago(60) } };
const forClaim = aWaitingSandbox({
  metadata: { annotations: { [KEY("for-claim")]: "uid-job", [KEY("sandbox-template-ref")]: "python" } },
});
const badImage = aPod({ containerStatuses: [waiting("InvalidImageName")] });

const FORBIDDEN =
  'Cannot get SandboxTemplate team-a/t: sandboxtemplates.extensions.agents.x-k8s.io "t" is forbidden: User ' +
  '"system:serviceaccount:h:hookbox-binder" cannot get resource "sandboxtemplates" in API group ' +
  '"extensions.agents.x-k8s.io" in the namespace "team-a" (status 403)';
const LACKING = rightLacking(lackedRight(FORBIDDEN)!, FORBIDDEN);

const cases: Case[] = [
  {
    name: "nothing",
    facts: claimFacts({}, { claim: null }),
    want: ["NotFound", "SandboxClaim/job", true],
    says: "does not exist",
  },
  {
    name: "no pool",
    facts: claimFacts({}, { pool: null }),
    want: ["WarmPoolNotFound", "SandboxWarmPool/warm", true],
    says: '"warm"',
  },
  {
    name: "no pool, by the condition alone",
    facts: { subject: JOB, claim: aClaim("job", { status: says("WarmPoolNotFound") }) },
    want: ["WarmPoolNotFound", "SandboxWarmPool/warm", true],
    says: '"warm"',
  },
  {
    name: "no template",
    facts: claimFacts({}, { template: null }),
    want: ["TemplateNotFound", "SandboxTemplate/python", true],
    says: '"python"',
  },
  {
    name: "no template, by the condition alone",
    facts: {
      subject: JOB,
      claim: aClaim("job", { status: says("TemplateNotFound", 'SandboxTemplate "py" not found') }),
    },
    want: ["TemplateNotFound", "SandboxTemplate/py", true],
    says: '"py"',
  },
  {
    name: "bad metadata",
    facts: claimFacts({ status: says("InvalidMetadata", "invalid additionalPodMetadata: x") }),
    want: ["InvalidMetadata", "SandboxClaim/job", true],
    says: "invalid additionalPodMetadata",
  },
  {
    name: "variables, before anybody has said so",
    facts: claimFacts({ spec: { env: [{ name: "A", value: "1" }] } }),
    want: ["EnvVarsInjectionRejected", "SandboxClaim/job", true],
    says: "not allowed by the template policy",
  },
  {
    name: "volumes, by the condition alone",
    facts: {
      subject: JOB,
      claim: aClaim("job", { status: says("VolumeClaimTemplatesError", "volumes are not allowed") }),
    },
    want: ["VolumeClaimTemplatesError", "SandboxClaim/job", true],
    says: "volumes are not allowed",
  },
  {
    name: "a container that the template lacks",
    facts: claimFacts({ status: says("ReconcilerError", 'Error seen: target container "x" not found') }),
    want: ["ClaimRejected", "SandboxClaim/job", true],
    says: 'target container "x"',
  },
  {
    name: "a right that the binder's account lacks",
    facts: claimFacts({ status: says("ReconcilerError", LACKING.message) }),
    want: ["ControllerForbidden", "SandboxClaim/job", true],
    says: "system:serviceaccount:h:hookbox-binder may not get sandboxtemplates.extensions.agents.x-k8s.io",
  },
  {
    name: "its time is up",
    facts: claimFacts({ spec: { lifecycle: { shutdownTime: ago(5), shutdownPolicy: "Retain" } }, status: BOUND }, {
      sandbox: forClaim,
    }),
    want: ["Expired", "SandboxClaim/job", true],
    says: ago(5),
  },
  {
    name: "it is being deleted",
    facts: claimFacts({ metadata: { deletionTimestamp: ago(5) } }),
    want: ["BeingDeleted", "SandboxClaim/job", false],
    says: "being deleted",
  },
  {
    name: "its Sandbox is gone",
    facts: claimFacts({ status: BOUND }),
    want: ["SandboxLost", "Sandbox/demo", false],
    says: '"demo"',
  },
  {
    name: "its Sandbox's Pod",
    facts: claimFacts({ status: BOUND }, { sandbox: aWaitingSandbox(), pod: badImage }),
    want: ["InvalidImageName", "Pod/demo", true],
    says: "not a valid image name",
  },
  {
    name: "the Pod of the Sandbox that is made for it",
    facts: claimFacts({}, { sandbox: forClaim, pod: badImage }),
    want: ["InvalidImageName", "Pod/demo", true],
    says: "not a valid image name",
  },
  {
    name: "a Sandbox of its name that is somebody's",
    facts: claimFacts(old, { sandbox: aWaitingSandbox({ metadata: { name: "job" } }) }),
    want: ["SandboxNameTaken", "Sandbox/job", true],
    says: "somebody else's",
  },
  {
    name: "the same, as soon as its condition says so",
    facts: claimFacts(
      { status: says("ReconcilerError", nameTaken("job").message) },
      { sandbox: aWaitingSandbox({ metadata: { name: "job" } }) },
    ),
    want: ["SandboxNameTaken", "Sandbox/job", true],
    says: "somebody else's",
  },
  {
    name: "a pool that may make no Sandboxes",
    facts: claimFacts(old, {
      events: [
        anEvent(
          "SyncError",
          "Sync error: can't reconcile: exceeded quota: q, requested: a=1",
          "SandboxWarmPool",
          "warm",
        ),
      ],
    }),
    want: ["QuotaExceeded", "ResourceQuota/q", true],
    says: "requested: a=1",
  },
  {
    name: "a hook that does not answer",
    facts: claimFacts(old, {
      events: [anEvent("SyncError", "Sync error: http error: connection refused", "SandboxWarmPool", "warm")],
    }),
    want: ["HookFailing", "SandboxWarmPool/warm", false],
    says: "connection refused",
  },
  {
    name: "a hook that failed once",
    facts: claimFacts({ status: says("SandboxMissing") }, {
      events: [{ ...anEvent("SyncError", "http error: connection refused", "SandboxWarmPool", "warm"), first: ago(6) }],
    }),
    want: ["Starting", "SandboxClaim/job", false],
    says: "waits for a Sandbox",
  },
  {
    name: "its Sandbox is Ready, and it does not say so yet",
    facts: claimFacts({ status: BOUND }, {
      sandbox: aWaitingSandbox({ status: { conditions: [aCondition("Ready", "True", "DependenciesReady")] } }),
    }),
    want: ["Starting", "SandboxClaim/job", false],
    says: "does not show yet",
  },
  {
    name: "nobody has looked at it",
    facts: claimFacts(old, { pool: aPool({ status: { readyReplicas: 0, observedGeneration: 1, conditions: [] } }) }),
    want: ["ControllerSilent", "SandboxClaim/job", false],
    says: "yet",
  },
  {
    name: "it is young",
    facts: claimFacts({ status: says("SandboxMissing") }),
    want: ["Starting", "SandboxClaim/job", false],
    says: "waits for a Sandbox",
  },
  {
    name: "it waits for long",
    facts: claimFacts({ ...old, status: says("SandboxMissing") }),
    want: ["NotReady", "SandboxClaim/job", false],
    says: "nothing that could be read says why",
  },
];

test.for(cases)("$name: $want.0", expectCause);

test("a claim that is Ready is well, whatever has become of its pool", () => {
  const ready = { sandbox: { name: "demo" }, conditions: [aCondition("Ready", "True", "DependenciesReady")] };
  expect(why(claimFacts({ status: ready }, { pool: null }), NOW)).toMatchObject({
    code: "Ready",
    isOk: true,
    object: JOB,
    chain: [JOB],
  });
});

test("the chain leads through the pool to the Pod, and the remedy to the template", () => {
  const { chain, remedy } = why(claimFacts({}, { sandbox: forClaim, pod: badImage }), NOW);
  expect(chain.map(({ kind, name }) => `${kind}/${name}`)).toEqual([
    "SandboxClaim/job",
    "SandboxWarmPool/warm",
    "Sandbox/demo",
    "Pod/demo",
  ]);
  expect(remedy).toBe(
    'Correct spec.podTemplate.spec.containers[].image of SandboxTemplate "python", then recreate the claim.',
  );
});
