/** What a claim answers for its Sandbox: nothing of the user's is reverted, nothing is written without a cause. @module */
import { expect, test } from "vitest";
import type { Sandbox } from "../../../packages/api/sandbox.ts";
import { LAST_APPLIED_ANNOTATION } from "../../../packages/api/objects/apply.ts";
import { refusedWriteText } from "../../../packages/api/keeperreports.ts";
import {
  aBoundClaim,
  aClaimed,
  aCondition,
  after,
  anApplied,
  putOf,
  readyText,
  type Since,
  syncClaim,
} from "../../claimbuilders.ts";

type Applied = ReturnType<typeof anApplied>;

/** What is written to the Sandbox by an answer; undefined: nothing. */
function written(sandbox: Sandbox, spec: object = {}): Sandbox | undefined {
  const [desired] = syncClaim(aBoundClaim({ spec }), [sandbox]).attachments;
  if (!desired) throw new RangeError("Cannot tell what is written: the Sandbox is left out");
  return putOf(sandbox, desired);
}

/** The keeper takes a Pod's spec that the merge would spoil out of last-applied. */
function trimmed(applied: Applied): object {
  const { spec: _, ...podTemplate } = applied.spec.podTemplate;
  return { ...applied, spec: { podTemplate } };
}

const PORTS = {
  containers: [{ name: "main", ports: [{ containerPort: 53 }, { containerPort: 53, protocol: "UDP" }] }],
};
const ADDITIONAL = { additionalPodMetadata: { labels: { "sandbox.users.io/a": "1" } } };

const since: { name: string; since: Since; noted?: boolean }[] = [
  { name: "nothing", since: {} },
  { name: "the user has suspended it", since: { spec: { operatingMode: "Suspended" } } },
  { name: "the user has set a shutdown time", since: { spec: { shutdownTime: after(60), shutdownPolicy: "Delete" } } },
  {
    name: "the user has changed the Pod's image",
    noted: true,
    since: {
      spec: {
        podTemplate: {
          metadata: anApplied().spec.podTemplate.metadata,
          spec: { containers: [{ name: "main", image: "mine" }], priorityClassName: "high" },
        },
      },
    },
  },
  {
    name: "the user has labelled and annotated it",
    since: { metadata: { labels: { ...anApplied().metadata.labels, mine: "1" }, annotations: { mine: "1" } } },
  },
  { name: "it is a field of a newer API", since: { spec: { newField: { a: [1] } } } },
];

test.for(since)("no PUT: $name", ({ since, noted }) => {
  const before = aClaimed(since);
  const put = written(before);
  if (!noted) return expect(put).toBeUndefined();
  const { [LAST_APPLIED_ANNOTATION]: _, ...annotations } = before.metadata.annotations ?? {};
  expect(put, "but for the note of what is applied").toEqual({
    ...before,
    metadata: { ...before.metadata, annotations: { ...annotations, [LAST_APPLIED_ANNOTATION]: expect.any(String) } },
  });
  expect(put && written(put), "and that once").toBeUndefined();
});

test.for(since)("no PUT, the Pod's spec being out of last-applied: $name", ({ since }) => {
  expect(written(aClaimed({ ...since, lastApplied: trimmed(anApplied()) }))).toBeUndefined();
});

test.for(since)("a PUT for the claim's metadata keeps what others have set: $name", ({ since }) => {
  for (const lastApplied of [anApplied(), trimmed(anApplied())]) {
    const before = aClaimed({ ...since, lastApplied });
    const put = written(before, ADDITIONAL);
    const { podTemplate, ...spec } = before.spec;
    expect(put?.spec).toEqual({
      ...spec,
      podTemplate: {
        ...podTemplate,
        metadata: {
          ...podTemplate.metadata,
          labels: { ...podTemplate.metadata?.labels, "sandbox.users.io/a": "1" },
        },
      },
    });
    expect(put?.metadata).toMatchObject({
      labels: before.metadata.labels,
      ownerReferences: before.metadata.ownerReferences,
    });
    expect(put?.status).toEqual(before.status);
  }
});

test("two ports of one number survive a PUT, once the keeper has taken them out of last-applied", () => {
  const applied = anApplied({ podTemplate: { spec: PORTS } });
  expect(written(aClaimed({ lastApplied: trimmed(applied) }, applied), ADDITIONAL)?.spec.podTemplate.spec).toEqual(
    PORTS,
  );
});

test.for([{ name: "nothing", spec: {} }, { name: "a label", spec: ADDITIONAL }])(
  "a Sandbox that another controller has bound: one PUT for $name, then none",
  ({ spec }) => {
    const before = aClaimed({ lastApplied: null, spec: { operatingMode: "Suspended" } });
    delete before.metadata.annotations?.["agents.x-k8s.io/claim-pod-metadata"];
    const put = written(before, spec) as Sandbox;
    const { [LAST_APPLIED_ANNOTATION]: text, "agents.x-k8s.io/claim-pod-metadata": record, ...annotations } =
      put.metadata.annotations ?? {};
    expect(text).toBeDefined();
    expect(annotations).toEqual(before.metadata.annotations);
    expect(record).toBe("additionalPodMetadata" in spec ? '{"labels":{"sandbox.users.io/a":"1"}}' : undefined);
    expect(put.spec.operatingMode).toBe("Suspended");
    expect(put.spec.podTemplate.spec).toEqual(before.spec.podTemplate.spec);
    expect(put.metadata.ownerReferences).toEqual(before.metadata.ownerReferences);
    expect(written(put, spec)).toBeUndefined();
  },
);

/** The keeper has reported on the Sandbox that the API server refuses such a write of it. */
const refused = (verb: "update" | "delete", text = refusedWriteText({ verb, words: "change freeze" })) =>
  aClaimed({ metadata: { annotations: { "agents.x-k8s.io/refused-write": text } } });
const READY = "True DependenciesReady Pod is Ready";

test("a change that the API server refuses is reported for as long as it is outstanding, and asked for again", () => {
  const claim = aBoundClaim({ spec: ADDITIONAL });
  const answer = syncClaim(claim, [refused("update")]);
  expect(readyText(answer)).toBe('False ReconcilerError Error seen: cannot update Sandbox "warm-1": change freeze');
  const [desired] = answer.attachments;
  const put = desired && putOf(refused("update"), desired);
  expect(put?.spec.podTemplate.metadata?.labels).toMatchObject(ADDITIONAL.additionalPodMetadata.labels);
  expect(put?.metadata.annotations, "only the keeper removes that").toHaveProperty([
    "agents.x-k8s.io/refused-write",
  ]);
  expect(readyText(syncClaim(claim, [put!]))).toBe(READY);
});

test.for([
  { name: "of a deletion, while nothing is to be deleted", sandbox: refused("delete"), spec: ADDITIONAL },
  { name: "of a change, while nothing is to be changed", sandbox: refused("update"), spec: {} },
  { name: "that cannot be read", sandbox: refused("update", "{"), spec: ADDITIONAL },
  { name: "of an unknown write", sandbox: refused("update", '{"verb":"create","words":"no"}'), spec: ADDITIONAL },
])("a report $name is not shown", ({ sandbox, spec }) => {
  expect(readyText(syncClaim(aBoundClaim({ spec }), [sandbox]))).not.toMatch(/False|Error/);
});

const lifecycle = { shutdownTime: after(-60), shutdownPolicy: "Retain" };
const EXPIRED = "False ClaimExpired Claim expired. Sandbox cleanup initiated.";

test("an expired claim whose Sandbox cannot be deleted says so, and still wants it deleted", () => {
  const expired = { ...aCondition("Ready", "False", "ClaimExpired"), observedGeneration: 3 };
  const claim = aBoundClaim({ spec: { lifecycle }, status: { conditions: [expired] } });
  const answer = syncClaim(claim, [refused("delete")]);
  expect(answer.attachments).toEqual([]);
  expect(answer.deletions).toEqual({ "Sandbox/warm-1": "the claim has expired" });
  expect(readyText(answer)).toBe(`${EXPIRED} Error seen: cannot delete Sandbox "warm-1": change freeze`);
  expect(syncClaim(claim, [refused("update")])).not.toHaveProperty("status");
});

test("a claim that expires reports that, whatever else is wrong with its metadata", () => {
  const claim = aBoundClaim({ spec: { lifecycle, additionalPodMetadata: { labels: { app: "x" } } } });
  expect(readyText(syncClaim(claim, [aClaimed()]))).toBe(EXPIRED);
});
