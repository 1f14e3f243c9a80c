/** What holds for every answer of the claim hook, whatever claim and Sandboxes it is shown. @module */
import { expect, test } from "vitest";
import type { Sandbox } from "../../../../packages/api/sandbox.ts";
import { LAST_APPLIED_ANNOTATION } from "../../../../packages/api/objects/apply.ts";
import { sandboxClaimSchema } from "../../../../packages/api/sandboxclaim.ts";
import { sandboxClaimHook } from "../../../../hooks/sandboxclaim/hook.ts";
import { syncSandboxClaim } from "../../../../hooks/sandboxclaim/sync.ts";
import { deletionReasons } from "../../../../hooks/sandboxclaim/deletionreasons.ts";
import { childRules } from "../../../../hooks/sandboxclaim/childrules.ts";
import { guardAnswer } from "../../../../packages/webhook/guard.ts";
import { decoratorAnswerSchema, decoratorRequestSchema } from "../../../../packages/webhook/metacontroller.ts";
import { aClaim, aClaimed, aClaimRequest, after, anApplied, CONFIG, putOf } from "../../../claimbuilders.ts";
import { reversed } from "../../../golden.ts";
import { deepFreeze } from "../../../freeze.ts";
import { NOW } from "../../../sandboxes.ts";
import fc, { runs } from "../../../properties.ts";

const KEY = (name: string) => `agents.x-k8s.io/${name}`;
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const reasons = ["DependenciesReady", "DependenciesNotReady", "ClaimExpired", "SandboxExpired", "PodFailed", "Odd"];
const time = fc.oneof(fc.integer({ min: -90, max: 90 }).map(after), fc.constant("no time"));
const condition = fc.record({
  type: fc.constantFrom("Ready", "Finished", "example.com/Other"),
  status: fc.constantFrom("True", "False", "Unknown"),
  reason: fc.constantFrom(...reasons),
  message: fc.string(),
  lastTransitionTime: time,
});
const texts = fc.dictionary(
  fc.constantFrom("sandbox.users.io/a", "sandbox.users.io/b", "example.com/x", "bad key", KEY("claim-uid")),
  fc.constantFrom("1", "2", "bad value!"),
);
const podMetadata = fc.record({ labels: texts, annotations: texts }, { requiredKeys: [] });
const claim = fc.record({
  metadata: fc.record({
    creationTimestamp: maybe(time),
    deletionTimestamp: fc.option(fc.constant(after(-1)), { nil: undefined, freq: 9 }),
    annotations: fc.record({
      [KEY("sandbox-name")]: fc.constantFrom("a", "b", "gone"),
      [KEY("claim-first-ready-at")]: fc.constant("unknown"),
    }, { requiredKeys: [] }),
  }, { requiredKeys: ["annotations"] }),
  spec: fc.record({
    lifecycle: fc.record({
      shutdownTime: time,
      ttlSecondsAfterFinished: fc.nat({ max: 100 }),
      shutdownPolicy: fc.constantFrom("Retain", "Delete", "DeleteForeground"),
    }, { requiredKeys: [] }),
    additionalPodMetadata: podMetadata,
  }, { requiredKeys: [] }),
  status: maybe(fc.record({
    conditions: fc.array(condition, { maxLength: 3 }),
    sandbox: fc.record({ name: fc.constantFrom("a", "b", "gone"), podIPs: fc.constant(["10.1.0.7"]) }),
  }, { requiredKeys: [] })),
}).map(({ status, ...rest }) => aClaim({ ...rest, ...(status ? { status } : {}) }));

const refusedWrite = fc.record({ verb: fc.constantFrom("update", "delete", "odd"), words: fc.string() });
const sandbox = fc.record({
  name: fc.constantFrom("a", "b", "c"),
  record: fc.constantFrom("{}", '{"labels":{"sandbox.users.io/a":"1"}}', "[]"),
  podMetadata,
  isGoing: fc.boolean(),
  applied: fc.constantFrom("all", "none"),
  conditions: fc.array(condition, { maxLength: 3 }),
  podIPs: fc.constantFrom([], ["10.1.0.7"]),
  mode: fc.constantFrom("Running", "Suspended"),
  refused: maybe(fc.oneof(refusedWrite.map((value) => JSON.stringify(value)), fc.string())),
}).map(({ name, record, podMetadata, isGoing, applied, conditions, podIPs, mode, refused }) =>
  aClaimed(
    {
      metadata: {
        uid: `uid-${name}`,
        ...(isGoing ? { deletionTimestamp: after(-1) } : {}),
        ...(refused === undefined ? {} : { annotations: { [KEY("refused-write")]: refused } }),
      },
      spec: { operatingMode: mode },
      status: { conditions, podIPs },
      ...(applied === "none" ? { lastApplied: null } : {}),
    },
    anApplied({
      metadata: { name },
      annotations: { [KEY("claim-pod-metadata")]: record },
      podTemplate: { metadata: podMetadata },
    }),
  )
);
const request = fc.tuple(claim, fc.uniqueArray(sandbox, { maxLength: 3, selector: ({ metadata }) => metadata.name }))
  .map(([object, sandboxes]) => aClaimRequest(object, sandboxes));
type Request = ReturnType<typeof aClaimRequest>;

const parse = (body: unknown) => decoratorRequestSchema(sandboxClaimSchema).parse(body);
const answer = (body: unknown) => syncSandboxClaim(parse(body), NOW, CONFIG);
const always = (check: (body: Request) => void) => fc.assert(fc.property(request, check), { numRuns: runs(60) });

test("same request, same bytes, whatever the process was asked before", () => {
  const old = sandboxClaimHook(CONFIG);
  always((body) => {
    expect(JSON.stringify(answer(structuredClone(body)))).toBe(JSON.stringify(answer(body)));
    expect(JSON.stringify(old.sync(body, NOW))).toBe(JSON.stringify(sandboxClaimHook(CONFIG).sync(body, NOW)));
  });
});

test("the request is not touched", () =>
  always((body) => {
    const frozen = deepFreeze(parse(structuredClone(body)));
    expect(() => syncSandboxClaim(frozen, NOW, CONFIG)).not.toThrow();
  }));

test("the order of keys does not matter", () =>
  always((body) => {
    expect(answer(reversed(body))).toEqual(answer(body));
  }));

test("every answer keeps the protocol, and names the reason of every deletion", () =>
  always((body) => {
    const { deletions, ...decorated } = answer(body);
    expect(decoratorAnswerSchema.safeParse(decorated).error).toBeUndefined();
    const verdict = guardAnswer(parse(body), decorated.attachments, deletions ?? {}, NOW, deletionReasons, childRules);
    expect("refusal" in verdict && verdict.refusal).toBe(false);
    const outcome = sandboxClaimHook(CONFIG).sync(body, NOW);
    expect(outcome).toMatchObject({ answer: decorated, held: [] });
  }));

const observedIn = (body: Request) => Object.values(body.attachments["Sandbox.agents.x-k8s.io/v1beta1"]);
const boundIn = (body: Request) =>
  observedIn(body).find(({ metadata }) => metadata.name === body.object.status?.sandbox?.name);

/** A Sandbox without what Metacontroller notes of it whatever a hook answers. */
function withoutNote({ metadata, ...sandbox }: Sandbox) {
  const { [LAST_APPLIED_ANNOTATION]: _, ...annotations } = metadata.annotations ?? {};
  return { ...sandbox, metadata: { ...metadata, annotations } };
}

test("an answer about a claim that is not bound changes nothing and deletes nothing", () =>
  always((body) => {
    if (boundIn(body)) return;
    const { attachments, ...rest } = answer(body);
    expect([rest, attachments.length]).toEqual([{}, observedIn(body).length]);
    for (const sandbox of observedIn(body)) {
      const desired = attachments.find(({ metadata }) => metadata.name === sandbox.metadata.name);
      expect(withoutNote(putOf(sandbox, desired!) ?? sandbox)).toEqual(withoutNote(sandbox));
    }
  }));

test("a bound claim goes on naming its Sandbox, and Ready promises an address", () =>
  always((body) => {
    const { status, attachments, deletions = {} } = answer(body);
    if (!status) return;
    const name = boundIn(body)?.metadata.name;
    expect(status.sandbox?.name).toBe(name);
    // A Sandbox that cannot be deleted is still to be.
    const isDeleted = deletions[`Sandbox/${name}`] !== undefined;
    expect(attachments.map(({ metadata }) => metadata.name)).toEqual(isDeleted ? [] : [name]);
    const ready = status.conditions?.find(({ type }) => type === "Ready");
    expect(ready).toBeDefined();
    if (ready?.status === "True") expect(status.sandbox?.podIPs).not.toHaveLength(0);
  }));

test("nothing of a Sandbox's spec is changed but the Pod's metadata, and mode and owner never", () =>
  always((body) => {
    const observed = observedIn(body);
    for (const desired of answer(body).attachments) {
      const before = observed.find(({ metadata }) => metadata.name === desired.metadata.name);
      const put = before && putOf(before, desired);
      if (!put) continue;
      const { podTemplate: { metadata: _, ...podTemplate }, ...spec } = put.spec;
      expect({ ...spec, podTemplate }).toEqual({
        ...before.spec,
        podTemplate: { spec: before.spec.podTemplate.spec },
      });
      expect(put.metadata.ownerReferences).toEqual(before.metadata.ownerReferences);
      expect(put.metadata.labels).toEqual(before.metadata.labels);
    }
  }));

test("a Sandbox goes as one too many only where the claim is seen to name another one that is there", () =>
  always((body) => {
    const observed = observedIn(body);
    const named = body.object.status?.sandbox?.name;
    const gone = Object.entries(answer(body).deletions ?? {}).filter(([, reason]) => reason.endsWith("another one"));
    if (gone.length === 0) return;
    expect(observed.map(({ metadata }) => metadata.name)).toContain(named);
    expect(gone.map(([key]) => key)).not.toContain(`Sandbox/${named}`);
  }));

test("a request without the attachment rule is refused: it would pass for a claim without a Sandbox", () => {
  expect(() => answer({ ...aClaimRequest(aClaim()), attachments: {} })).toThrow(RangeError);
});
