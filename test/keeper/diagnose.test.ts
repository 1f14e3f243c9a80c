import { describe, expect, test } from "vitest";
import type { ChildKind } from "../../packages/keeper/child.ts";
import { wantedChildren } from "../../packages/keeper/children.ts";
import { diagnose } from "../../packages/keeper/diagnose.ts";
import type { KubeObject } from "../../packages/api/objects/objects.ts";
import { nameHash } from "../../packages/api/objects/names.ts";
import { aChild, aSandbox } from "../sandboxes.ts";

const ADOPTABLE = { "agents.x-k8s.io/adoptable": "true" };
const TRACKED = { "agents.x-k8s.io/sandbox-name-hash": nameHash("demo") };
const OURS = owner("Sandbox", "demo", "uid-demo");
const FOREIGN = owner("ReplicaSet", "web", "uid-web");
const LACKS = 'missing required pool authorization label ("agents.x-k8s.io/adoptable") ' +
  'or sandbox tracking label ("agents.x-k8s.io/sandbox-name-hash")';

function owner(kind: string, name: string, uid: string) {
  return { ownerReferences: [{ apiVersion: "v1", kind, name, uid, controller: true }] };
}

interface Case {
  name: string;
  reason: string;
  kind?: ChildKind;
  mode?: "Suspended";
  metadata?: object;
  spec?: object;
  /** Of the problem where it begins with a small letter, else of the verdict. */
  want: string;
}

const cases: Case[] = [
  {
    name: "ours",
    reason: "controlled by this Sandbox",
    metadata: { ...OURS, labels: { "controller-uid": "uid-demo" } },
    want: "OURS",
  },
  {
    name: "ours without the label",
    reason: "Metacontroller will release it, and then it is unowned",
    metadata: { ...OURS, labels: TRACKED },
    want: "PENDING",
  },
  {
    name: "another's Pod",
    reason: "never touched",
    metadata: { ...FOREIGN, labels: ADOPTABLE },
    want: 'pod "demo" is owned by ReplicaSet/web (UID: uid-web), not by sandbox "demo"',
  },
  {
    name: "another's Service",
    reason: "never touched",
    kind: "Service",
    metadata: FOREIGN,
    want: 'service "demo" is owned by ReplicaSet/web (UID: uid-web), not by sandbox "demo"',
  },
  {
    name: "another's volume",
    reason: "never touched",
    kind: "PersistentVolumeClaim",
    metadata: FOREIGN,
    want: 'PVC "demo" is owned by ReplicaSet/web (UID: uid-web), not by sandbox "demo"',
  },
  {
    name: "one of an earlier Sandbox of this name",
    reason: "the UID decides, not the name",
    metadata: owner("Sandbox", "demo", "uid-earlier"),
    want: 'pod "demo" is owned by Sandbox/demo (UID: uid-earlier), not by sandbox "demo"',
  },
  {
    name: "an owner that does not control",
    reason: "only controller: true counts",
    metadata: { ownerReferences: [{ ...FOREIGN.ownerReferences[0], controller: false }], labels: ADOPTABLE },
    want: "ADOPT",
  },
  { name: "unowned Pod", reason: "no label, no consent", want: `cannot adopt unowned pod "demo": ${LACKS}` },
  {
    name: "unowned Service",
    reason: "no label, no consent",
    kind: "Service",
    want: `cannot adopt unowned service "demo": ${LACKS}`,
  },
  {
    name: "unowned volume",
    reason: "no label, no consent",
    kind: "PersistentVolumeClaim",
    want: `cannot adopt unowned PVC "demo": ${LACKS}`,
  },
  {
    name: "adoptable: false",
    reason: "the value has to be true",
    metadata: { labels: { "agents.x-k8s.io/adoptable": "false" } },
    want: `cannot adopt unowned pod "demo": ${LACKS}`,
  },
  {
    name: "another Sandbox's hash",
    reason: "the hash has to be ours",
    metadata: { labels: { "agents.x-k8s.io/sandbox-name-hash": nameHash("other") } },
    want: `cannot adopt unowned pod "demo": ${LACKS}`,
  },
  { name: "adoptable Pod", reason: "the operator consents", metadata: { labels: ADOPTABLE }, want: "ADOPT" },
  { name: "tracked Pod", reason: "it was ours once", metadata: { labels: TRACKED }, want: "ADOPT" },
  {
    name: "tracked volume",
    reason: "the same rule for every kind",
    kind: "PersistentVolumeClaim",
    metadata: { labels: TRACKED },
    want: "ADOPT",
  },
  {
    name: "adoptable headless Service",
    reason: "a Sandbox's Service is headless",
    kind: "Service",
    metadata: { labels: ADOPTABLE },
    spec: { clusterIP: "None" },
    want: "ADOPT",
  },
  {
    name: "adoptable Service without an address",
    reason: "an ExternalName Service has none",
    kind: "Service",
    metadata: { labels: ADOPTABLE },
    spec: { clusterIP: "" },
    want: "ADOPT",
  },
  {
    name: "adoptable Service with an address",
    reason: "it cannot be made headless",
    kind: "Service",
    metadata: { labels: ADOPTABLE },
    spec: { clusterIP: "10.96.0.7" },
    want: 'cannot adopt service "demo": ClusterIP is "10.96.0.7" (expected "None", field is immutable)',
  },
  {
    name: "labelled for adoption",
    reason: "Metacontroller's turn",
    metadata: { labels: { ...ADOPTABLE, "controller-uid": "uid-demo" } },
    want: "PENDING",
  },
  {
    name: "labelled for another's adoption",
    reason: "the controller that had it has not taken it",
    metadata: { labels: { ...ADOPTABLE, "controller-uid": "uid-other" } },
    want: "ADOPT",
  },
  {
    name: "adoptable but being deleted",
    reason: "Metacontroller would not adopt it; soon there is room",
    metadata: { labels: ADOPTABLE, deletionTimestamp: "2026-11-21T12:00:00Z" },
    want: "PENDING",
  },
  {
    name: "suspended, ours",
    reason: "the hook deletes it",
    mode: "Suspended",
    metadata: { ...OURS, labels: { "controller-uid": "uid-demo" } },
    want: "OURS",
  },
  {
    name: "suspended, adoptable",
    reason: "a suspended Sandbox wants no Pod: neither adopted nor deleted",
    mode: "Suspended",
    metadata: { labels: ADOPTABLE },
    want: 'pod "demo" exists and is not controlled by sandbox "demo"',
  },
  {
    name: "suspended, another's",
    reason: "the same words as ever",
    mode: "Suspended",
    metadata: FOREIGN,
    want: 'pod "demo" is owned by ReplicaSet/web (UID: uid-web), not by sandbox "demo"',
  },
];

function judge(kind: ChildKind, mode: string, found: KubeObject | undefined) {
  const sandbox = aSandbox({ spec: { operatingMode: mode } });
  const desired = { apiVersion: "v1", kind, metadata: { name: "demo" } };
  return diagnose(sandbox, { kind, name: "demo", desired, found });
}

test.for(cases)("diagnose(): $name", ({ kind = "Pod", mode = "Running", metadata, spec, want, reason }) => {
  const found = aChild(kind, { ...(metadata ? { metadata } : {}), ...(spec ? { spec } : {}) });
  const verdict = judge(kind, mode, found);
  if (verdict.verdict === "problem") {
    expect(verdict.problem, reason).toEqual({ kind, name: "demo", state: "taken", message: want });
  } else expect(verdict.verdict.toUpperCase(), reason).toBe(want);
});

test("diagnose() calls a child missing that does not exist", () => {
  expect(judge("Pod", "Running", undefined)).toEqual({ verdict: "missing" });
});

describe("wantedChildren()", () => {
  const claims = ["home", "data"].map((name) => ({ metadata: { name }, spec: {} }));
  const names = (spec: object) =>
    wantedChildren(aSandbox({ spec: { volumeClaimTemplates: claims, ...spec } })).map(({ kind, name }) =>
      `${kind}/${name}`
    );
  const volumes = ["PersistentVolumeClaim/home-demo", "PersistentVolumeClaim/data-demo"];

  test("lists volumes, Pod and, where it is asked for, the Service", () => {
    expect(names({})).toEqual([...volumes, "Pod/demo"]);
    expect(names({ service: true })).toEqual([...volumes, "Pod/demo", "Service/demo"]);
    expect(names({ service: false })).toEqual([...volumes, "Pod/demo"]);
  });

  test("looks at the Pod alone while suspended", () => {
    expect(names({ service: true, operatingMode: "Suspended" })).toEqual(["Pod/demo"]);
  });
});
