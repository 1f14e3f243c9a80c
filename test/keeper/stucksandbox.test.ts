/** A claim whose Sandbox the API server does not let Metacontroller change or delete: what the keeper reports, and for how long. @module */
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Sandbox } from "../../packages/api/sandbox.ts";
import { outstandingWrite } from "../../packages/keeper/stucksandbox.ts";
import { aClaim, aClaimsSandbox, aCondition, CLAIM, CLAIMS_SANDBOX, noted } from "./extensions.ts";
import { asked, begin, end, failSync, keep, keeper, pass, server } from "./stage.ts";

const WORDS = `can't update Sandbox team-a/s: sandboxes.agents.x-k8s.io "s" is forbidden: ` +
  "ValidatingAdmissionPolicy 'freeze' with binding 'freeze' denied request: change freeze until Monday";
const BOUND = {
  sandbox: { name: "s" },
  conditions: [aCondition("Ready", "True", "DependenciesReady", { observedGeneration: 1 })],
};
const WANTS = { warmPoolRef: { name: "pool" }, additionalPodMetadata: { labels: { "sandbox.users.io/team": "red" } } };
const RETAIN = {
  warmPoolRef: { name: "pool" },
  lifecycle: { shutdownTime: "2026-11-21T11:00:00Z", shutdownPolicy: "Retain" },
};
const EXPIRED = {
  ...BOUND,
  conditions: [aCondition("Ready", "False", "ClaimExpired", { observedGeneration: 1 })],
};

const refuse = (message = WORDS, uid = "uid-job") => failSync("SandboxClaim", "job", uid, message);

function putClaim(spec: object, status: object = BOUND): void {
  const { annotations = {} } = server.get(CLAIM)?.metadata ?? {};
  server.put(CLAIM, { ...aClaim({ spec, status, metadata: { ...noted(annotations) } }) });
}

const reported = () => {
  const text = server.get(CLAIM)?.metadata.annotations?.["agents.x-k8s.io/unresolved"];
  return text === undefined ? undefined : JSON.parse(text).message;
};

beforeEach(() => {
  begin();
  server.put("/api/v1/namespaces/team-a", { metadata: { name: "team-a" }, apiVersion: "v1", kind: "Namespace" });
  server.put(CLAIMS_SANDBOX, { ...aClaimsSandbox("True") });
});
afterEach(end);

test("metadata that cannot be changed is reported until it has been, and costs a request only then", async () => {
  putClaim(WANTS);
  await keep(60);
  expect(asked().filter((request) => request.startsWith("GET sandboxes"))).toEqual([]);
  refuse();
  await pass(5);
  expect(reported()).toBe(`Error seen: cannot update Sandbox "s": ${WORDS}`);
  // The Event is no longer recent; what it said is still so.
  await pass(3600);
  expect(reported()).toContain("change freeze until Monday");
  const { annotations } = aClaimsSandbox().metadata;
  const record = { "agents.x-k8s.io/claim-pod-metadata": `{"labels":{"sandbox.users.io/team":"red"}}` };
  server.put(CLAIMS_SANDBOX, {
    ...aClaimsSandbox("True", { metadata: { annotations: { ...annotations, ...record } } }),
  });
  await pass(60);
  expect(reported()).toBeUndefined();
  expect(keeper.actions).toEqual(["annotated", "annotation removed"]);
});

test("a Sandbox of an expired claim that cannot be deleted is reported until it is gone", async () => {
  putClaim(RETAIN, EXPIRED);
  await keep(1);
  refuse();
  await pass(5);
  expect(reported()).toBe(`Error seen: cannot delete Sandbox "s": ${WORDS}`);
  server.remove(CLAIMS_SANDBOX);
  await pass(60);
  expect(reported()).toBeUndefined();
});

test.for<[string, () => void]>([
  ["a Sandbox that is as the claim wants it", () => (putClaim({ warmPoolRef: { name: "pool" } }), refuse())],
  ["an Event of an earlier claim of the name", () => (putClaim(WANTS), refuse(WORDS, "uid-old"))],
  ["another failure", () => (putClaim(WANTS), refuse("sync hook failed: connection refused"))],
  ["a Sandbox that is another claim's", () => {
    putClaim(WANTS);
    server.put(CLAIMS_SANDBOX, { ...aClaimsSandbox("True", { metadata: { ownerReferences: [] } }) });
    refuse();
  }],
])("nothing is reported of %s", async ([, prepare]) => {
  await keep(1);
  prepare();
  await pass(120);
  expect(reported()).toBeUndefined();
});

const marked = (deletionTimestamp: string): Sandbox => aClaimsSandbox("True", { metadata: { deletionTimestamp } });
const ANY = { domains: ["sandbox.users.io"] };
test.for(
  [
    ["wanted labels", aClaim({ spec: WANTS, status: BOUND }), aClaimsSandbox("True"), ANY, "update"],
    ["wanted labels of a forbidden domain", aClaim({ spec: WANTS, status: BOUND }), aClaimsSandbox("True"), {
      domains: ["x.example"],
    }, undefined],
    ["no wishes", aClaim({ status: BOUND }), aClaimsSandbox("True"), ANY, undefined],
    ["an expired claim", aClaim({ spec: RETAIN, status: EXPIRED }), aClaimsSandbox("True"), ANY, "delete"],
    ["an expired claim that the keeper deletes", aClaim({ status: EXPIRED }), aClaimsSandbox("True"), ANY, undefined],
    [
      "a Sandbox that is being deleted",
      aClaim({ spec: RETAIN, status: EXPIRED }),
      marked("2026-11-21T12:00:00Z"),
      ANY,
      undefined,
    ],
  ] as const,
)("outstandingWrite() of %s", ([, claim, sandbox, allowed, want]) => {
  expect(outstandingWrite(claim, sandbox, allowed)).toBe(want);
});
