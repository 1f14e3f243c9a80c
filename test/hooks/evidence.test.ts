/** What hooks may say in a status: what is observed bears it out, or the guard refuses the answer. @module */
import { expect, test } from "vitest";
import { evidence as ofClaims } from "../../hooks/sandboxclaim/statusrules.ts";
import { evidence as ofSandboxes } from "../../hooks/sandbox/statusrules.ts";
import { sandboxHook } from "../../hooks/sandbox/hook.ts";
import { syncSandbox } from "../../hooks/sandbox/sync.ts";
import { refusedWriteText } from "../../packages/api/keeperreports.ts";
import { REFUSED_WRITE_ANNOTATION } from "../../packages/api/objects/keys.ts";
import { sandboxSchema } from "../../packages/api/sandbox.ts";
import { guardStatus, type StatusInvariants } from "../../packages/webhook/statusrules.ts";
import { compositeCalls } from "../../packages/webhook/hook.ts";
import type { Observed } from "../../packages/webhook/metacontroller.ts";
import { aClaim } from "../pools.ts";
import { aChild, aReadyPod, aRequest, aSandbox, NOW } from "../sandboxes.ts";

const NOW_TEXT = "2026-11-21T12:00:00Z";
const PAST = "2026-11-21T11:00:00Z";
const AHEAD = "2026-11-21T13:00:00Z";

/** A condition from words such as `Finished True PodFailed`. */
const says = (words: string, lastTransitionTime = NOW_TEXT) => {
  const [type = "", status, reason = "Because"] = words.split(" ");
  return { type, status, reason, message: "", lastTransitionTime };
};
const running = [aReadyPod()];
const failed = [aReadyPod({ status: { phase: "Failed", conditions: [] } })];
const dying = [aReadyPod({ status: { phase: "Failed" }, metadata: { deletionTimestamp: PAST } })];
const leaving = [aReadyPod({ metadata: { deletionTimestamp: PAST } })];
const suspended = { operatingMode: "Suspended" };
const over = { shutdownTime: PAST };

interface Case {
  words: string;
  children?: ReturnType<typeof aReadyPod>[];
  spec?: object;
  metadata?: object;
  /** Since when it says so; by default since now. */
  since?: string;
  /** What it has said before. */
  before?: ReturnType<typeof says>;
  /** What it has said, too. */
  first?: ReturnType<typeof says>;
  fine: boolean;
}

const SANDBOXES: Case[] = [
  { words: "Finished True PodFailed", children: failed, fine: true },
  { words: "Finished True PodFailed", children: running, fine: false },
  { words: "Finished True PodFailed", children: dying, fine: false },
  { words: "Finished True PodFailed", children: [], fine: false },
  { words: "Finished False Running", children: running, fine: true },
  { words: "Finished True PodFailed", children: failed, since: PAST, fine: false },
  {
    words: "Finished True PodFailed",
    children: failed,
    since: PAST,
    before: says("Finished True PodSucceeded", PAST),
    fine: true,
  },
  { words: "Finished True PodFailed", spec: over, before: says("Finished True PodFailed"), fine: true },
  {
    words: "Finished True PodFailed",
    metadata: { deletionTimestamp: PAST },
    before: says("Finished True PodFailed"),
    fine: true,
  },
  {
    words: "Ready True DependenciesReady",
    spec: over,
    first: says("Ready False SandboxExpired"),
    before: says("Ready True DependenciesReady"),
    fine: true,
  },
  { words: "Finished True PodFailed", children: running, before: says("Finished True PodFailed"), fine: false },
  { words: "Ready True", children: running, fine: true },
  { words: "Ready True", fine: false },
  { words: "Ready False PodFailed", children: failed, fine: true },
  { words: "Ready False PodFailed", children: running, fine: false },
  { words: "Ready False PodSucceeded", children: running, fine: false },
  { words: "Ready False SandboxExpired", children: running, spec: over, fine: true },
  { words: "Ready False SandboxExpired", children: running, spec: { shutdownTime: AHEAD }, fine: false },
  { words: "Ready False SandboxExpired", children: running, fine: false },
  { words: "Ready False SandboxExpired", children: running, before: says("Ready False SandboxExpired"), fine: false },
  { words: "Ready False SandboxSuspended", children: running, spec: suspended, fine: true },
  { words: "Ready False SandboxSuspended", children: running, fine: false },
  { words: "Ready False DependenciesNotReady", fine: true },
  { words: "Ready False DependenciesNotReady", children: leaving, fine: true },
  { words: "Ready Unknown Any", children: running, fine: false },
  { words: "Ready Unknown Any", fine: false },
  { words: "Ready Unknown Any", spec: over, before: says("Ready Unknown Any"), fine: true },
  { words: "Suspended True PodTerminated", spec: suspended, fine: true },
  { words: "Suspended True PodTerminated", spec: suspended, children: running, fine: false },
  { words: "Suspended True PodTerminated", fine: false },
  { words: "constructor True", fine: true },
];

const unproven = (words: string) => {
  const [type, status, reason] = words.split(" ");
  const either = `${type} ${status}( ${reason})?`;
  return {
    children: [],
    message: expect.stringMatching(
      `^status.conditions would say "${either}", which nothing that is observed bears out$`,
    ),
  };
};

function check(observed: unknown, evidence: StatusInvariants<never>, { words, since, fine }: Case): void {
  const refusal = guardStatus(observed as Observed<never>, { conditions: [says(words, since)] }, NOW, evidence);
  expect(refusal).toEqual(fine ? undefined : unproven(words));
}

test.for(SANDBOXES)("a Sandbox says $words: $fine", (each) => {
  const { spec = {}, metadata = {}, children = [], first, before } = each;
  const conditions = [first, before].filter((condition) => condition !== undefined);
  const sandbox = aSandbox({ spec, metadata, ...(conditions.length > 0 ? { status: { conditions } } : {}) });
  check(aRequest(sandbox, children), ofSandboxes as StatusInvariants<never>, each);
});

const theirs = (words: string, since?: string) => [aChild("Sandbox", { status: { conditions: [says(words, since)] } })];
const shown = { sandbox: { name: theirs("Ready True")[0]!.metadata.name } };
const finished = { ...shown, conditions: [says("Finished True PodFailed", PAST)] };
const additional = { additionalPodMetadata: { labels: { app: "x" } } };
/** The keeper has reported that the API server refuses changes of the Sandbox. */
const refused = [aChild("Sandbox", {
  status: { conditions: [says("Ready True")], podIPs: ["10.1.0.7"] },
  metadata: { annotations: { [REFUSED_WRITE_ANNOTATION]: refusedWriteText({ verb: "update", words: "no" }) } },
})];
const serving = [aChild("Sandbox", { status: { conditions: [says("Ready True")], podIPs: ["10.1.0.7"] } })];
const CLAIMS: (Case & { status?: object })[] = [
  { words: "Finished True PodFailed", children: theirs("Finished True PodFailed"), fine: true },
  { words: "Finished True PodFailed", children: theirs("Ready True"), fine: false },
  { words: "Finished True PodFailed", children: theirs("Finished True PodFailed"), since: PAST, fine: false },
  {
    words: "Finished True PodFailed",
    since: PAST,
    status: finished,
    spec: { lifecycle: { ttlSecondsAfterFinished: 60 } },
    fine: true,
  },
  { words: "Finished True PodFailed", since: PAST, status: finished, fine: false },
  { words: "Ready True Yes", children: theirs("Ready True Yes"), fine: true },
  { words: "Ready True Yes", children: theirs("Ready True Yes"), status: { sandbox: { name: "gone" } }, fine: false },
  { words: "Ready True Yes", children: theirs("Ready True Yes"), status: {}, fine: false },
  { words: "Ready True Yes", children: theirs("Ready False Yes"), fine: false },
  { words: "Ready True Yes", fine: false },
  { words: "Ready False PodFailed", children: theirs("Ready False PodFailed"), fine: true },
  { words: "Ready False PodFailed", children: theirs("Ready True"), fine: false },
  { words: "Ready False SandboxExpired", children: theirs("Ready False SandboxExpired", PAST), fine: true },
  { words: "Ready False SandboxExpired", children: theirs("Ready True"), fine: false },
  { words: "Ready False InvalidConfiguration", children: theirs("Ready False InvalidConfiguration"), fine: true },
  { words: "Ready False InvalidConfiguration", children: theirs("Ready True"), fine: false },
  { words: "Ready False InvalidConfiguration", fine: false },
  { words: "Ready False TemplateNotFound", fine: false },
  { words: "Ready False WarmPoolNotFound", children: serving, fine: false },
  { words: "Ready False SandboxMissing", fine: false },
  { words: "Ready False SandboxMissing", children: serving, fine: false },
  { words: "Ready False SandboxNotReady", children: theirs("Ready True"), fine: true },
  { words: "Ready False SandboxNotReady", children: serving, fine: false },
  { words: "Ready False InvalidMetadata", children: serving, spec: additional, fine: true },
  { words: "Ready False InvalidMetadata", children: serving, fine: false },
  { words: "Ready False ReconcilerError", children: serving, spec: additional, fine: true },
  { words: "Ready False ReconcilerError", children: serving, fine: false },
  { words: "Ready False ReconcilerError", children: refused, fine: true },
  { words: "Ready False InvalidMetadata", children: refused, fine: false },
  { words: "Ready False ClaimExpired", children: serving, spec: { lifecycle: over }, fine: true },
  { words: "Ready False ClaimExpired", children: theirs("Ready False ClaimExpired"), fine: true },
  { words: "Ready False ClaimExpired", children: serving, spec: { lifecycle: { shutdownTime: AHEAD } }, fine: false },
  {
    words: "Ready False ClaimExpired",
    status: finished,
    spec: { lifecycle: { ttlSecondsAfterFinished: 60 } },
    fine: true,
  },
  {
    words: "Ready False ClaimExpired",
    status: finished,
    spec: { lifecycle: { ttlSecondsAfterFinished: 7200 } },
    fine: false,
  },
  { words: "Ready Unknown Any", children: theirs("Ready Unknown Any"), fine: true },
  { words: "Ready Unknown Any", children: theirs("Ready True Yes"), fine: false },
  { words: "Ready Unknown Any", fine: false },
];

test.for(CLAIMS)("a claim says $words: $fine", (each) => {
  const { spec = {}, metadata = {}, status = shown, children = [] } = each;
  const parent = aClaim("a", { spec, metadata, status });
  check({ ...aRequest(aSandbox(), children), parent }, ofClaims as StatusInvariants<never>, each);
});

test("a hook that says of Sandboxes whose Pods run that they are finished is refused, and one that does not is not", () => {
  const observed = aRequest(aSandbox(), running);
  const deletionReasons = "any" as const;
  const childRules = "any" as const;
  const hook = compositeCalls({
    ...{
      type: "composite",
      name: "sandbox",
      parentSchema: sandboxSchema,
      deletionReasons,
      childRules,
      evidence: ofSandboxes,
    },
    sync: (request, now) => {
      const desired = syncSandbox(request, now, { clusterDomain: "cluster.local" });
      return { ...desired, status: { ...desired.status, conditions: [says("Finished True PodFailed")] } as object };
    },
  });
  expect(hook.sync(observed, NOW)).toEqual({ refusal: unproven("Finished True PodFailed") });
  expect(sandboxHook({ clusterDomain: "cluster.local" }).sync(observed, NOW)).toHaveProperty("answer");
});
