/** additionalPodMetadata on a bound claim: added, changed, removed, in conflict, invalid. @module */
import { expect, test } from "vitest";
import type { Sandbox } from "../../../packages/api/sandbox.ts";
import { aBoundClaim, aClaimed, anApplied, CONFIG, putOf, readyText, syncClaim } from "../../claimbuilders.ts";

const RECORD = "agents.x-k8s.io/claim-pod-metadata";
const UID = { "agents.x-k8s.io/claim-uid": "uid-job" };
const A = "sandbox.users.io/a";
const B = "sandbox.users.io/b";
const NOTE = "example.com/note";

interface Metadata {
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
}

/** A Sandbox whose Pod has metadata of the template, and the claim's share of it as recorded. */
function sandboxWith(podMetadata: Metadata, record: string | undefined = "{}"): Sandbox {
  const applied = anApplied({ podTemplate: { metadata: podMetadata }, annotations: { [RECORD]: record } });
  return aClaimed({}, applied);
}

function follow(wanted: Metadata | undefined, sandbox: Sandbox) {
  const claim = aBoundClaim({ spec: { additionalPodMetadata: wanted } });
  const answer = syncClaim(claim, [sandbox]);
  const [desired] = answer.attachments;
  const put = desired && putOf(sandbox, desired);
  const { metadata } = (put ?? sandbox).spec.podTemplate;
  return { ready: readyText(answer), put, metadata, record: (put ?? sandbox).metadata.annotations?.[RECORD] };
}

const READY = "True DependenciesReady Pod is Ready";
/** The API server may refuse the update: until the Sandbox is seen with it, the claim says so. */
const NOT_APPLIED = `${READY}; spec.additionalPodMetadata of the claim is not applied yet`;
const TEMPLATE = { labels: { ...UID, app: "agent" } };
const cases: {
  name: string;
  has: Metadata;
  record?: string;
  wants?: Metadata;
  want: Metadata;
  wantRecord: string;
}[] = [
  {
    name: "a label and an annotation are added",
    has: TEMPLATE,
    wants: { labels: { [A]: "1" }, annotations: { [NOTE]: "x" } },
    want: { labels: { ...TEMPLATE.labels, [A]: "1" }, annotations: { [NOTE]: "x" } },
    wantRecord: `{"annotations":{"${NOTE}":"x"},"labels":{"${A}":"1"}}`,
  },
  {
    name: "one is changed, one taken away, one is new",
    has: { labels: { ...TEMPLATE.labels, [A]: "1" }, annotations: { [NOTE]: "x" } },
    record: `{"annotations":{"${NOTE}":"x"},"labels":{"${A}":"1"}}`,
    wants: { labels: { [A]: "2", [B]: "3" } },
    want: { labels: { ...TEMPLATE.labels, [A]: "2", [B]: "3" } },
    wantRecord: `{"labels":{"${A}":"2","${B}":"3"}}`,
  },
  {
    name: "all is taken away",
    has: { labels: { ...TEMPLATE.labels, [A]: "1" } },
    record: `{"labels":{"${A}":"1"}}`,
    want: TEMPLATE,
    wantRecord: "{}",
  },
  {
    name: "what the template has too is not the claim's to take away",
    has: { labels: { ...UID, [A]: "1" } },
    wants: { labels: { [A]: "1" } },
    want: { labels: { ...UID, [A]: "1" } },
    wantRecord: "{}",
  },
  {
    name: "what somebody else has changed since is theirs",
    has: { labels: { ...UID, [A]: "theirs" } },
    record: `{"labels":{"${A}":"1"}}`,
    want: { labels: { ...UID, [A]: "theirs" } },
    wantRecord: "{}",
  },
  {
    name: "safe-to-evict is the one reserved annotation that a claim may set",
    has: TEMPLATE,
    wants: { annotations: { "cluster-autoscaler.kubernetes.io/safe-to-evict": "true" } },
    want: { ...TEMPLATE, annotations: { "cluster-autoscaler.kubernetes.io/safe-to-evict": "true" } },
    wantRecord: '{"annotations":{"cluster-autoscaler.kubernetes.io/safe-to-evict":"true"}}',
  },
];

test.for(cases)("$name", ({ has, record, wants, want, wantRecord }) => {
  const sandbox = sandboxWith(has, record);
  const { ready, metadata, record: noted, put } = follow(wants, sandbox);
  expect(ready).toBe(JSON.stringify(want) === JSON.stringify(has) ? READY : NOT_APPLIED);
  expect(metadata).toEqual(want);
  expect(noted).toBe(wantRecord);
  const next = follow(wants, put ?? sandbox);
  expect([next.put, next.ready], "the next answer writes nothing").toEqual([undefined, READY]);
});

const faults: { name: string; wants: Metadata; want: RegExp }[] = [
  {
    name: "a key that the template has with another value",
    wants: { labels: { [A]: "mine" } },
    want: new RegExp(
      `^False ReconcilerError Error seen: metadata override conflict: label "${A}" is defined in template with ` +
        'value "template", but claim requests "mine"$',
    ),
  },
  {
    name: "a domain that is not allowed",
    wants: { labels: { "example.com/a": "1" } },
    want: /^False InvalidMetadata invalid additionalPodMetadata: failed to validate label "example.com\/a": /,
  },
];

test.for(faults)("$name: the claim says so, and its Sandbox stays as it is", ({ wants, want }) => {
  const { ready, put } = follow(wants, sandboxWith({ labels: { ...UID, [A]: "template" } }));
  expect(ready).toMatch(want);
  expect(put).toBeUndefined();
});

test("a fault that is mended is forgotten", () => {
  const sandbox = sandboxWith(TEMPLATE);
  expect(follow({ labels: { team: "1" } }, sandbox).ready).toMatch(/^False InvalidMetadata/);
  expect(follow(undefined, sandbox).ready).toBe(READY);
});

test("a record that is not ours counts as none: nothing is taken away on a guess", () => {
  for (const record of ["[1]", "no JSON", "null"]) {
    const { metadata, ready } = follow({ labels: { [B]: "2" } }, sandboxWith({ labels: { ...UID, [A]: "1" } }, record));
    expect(metadata?.labels).toEqual({ ...UID, [A]: "1", [B]: "2" });
    expect(ready).toBe(NOT_APPLIED);
  }
});

test("what another controller has put there for the claim is the claim's to change, and to take away", () => {
  const bound = sandboxWith({ labels: { ...UID, [A]: "1", [B]: "1" } });
  delete bound.metadata.annotations?.[RECORD];
  const same = follow({ labels: { [A]: "1", [B]: "1" } }, bound);
  expect([same.ready, same.record]).toEqual([READY, `{"labels":{"${A}":"1","${B}":"1"}}`]);
  expect(same.metadata).toEqual(bound.spec.podTemplate.metadata);
  expect(follow({ labels: { [A]: "2" } }, same.put ?? bound).metadata).toEqual({ labels: { ...UID, [A]: "2" } });
});

test("a Pod template without any metadata gets the claim's", () => {
  const applied = anApplied({ podTemplate: { metadata: undefined } });
  expect(follow({ labels: { [A]: "1" } }, aClaimed({}, applied)).metadata).toEqual({ labels: { [A]: "1" } });
});

test("with domains of annotation keys, no other is put on the Pod of a claim, and the claim reports which ones may be", () => {
  const config = { ...CONFIG, allowedAnnotationDomains: ["example.com"] };
  const other = { annotations: { "k8s.v1.cni.cncf.io/networks": "kube-system/host" } };
  const sandbox = sandboxWith(TEMPLATE);
  const bound = syncClaim(aBoundClaim({ spec: { additionalPodMetadata: other } }), [sandbox], { config });
  expect(readyText(bound)).toMatch(/^False InvalidMetadata .*use one of: example\.com/);
  expect(JSON.stringify(bound.attachments)).not.toContain("cni.cncf.io");
});
