/** Objects of v1alpha1 in v1beta1 and back: renamed fields, and nothing lost on the way there and back. */
import { describe, expect, test } from "vitest";
import { convertObject } from "../../packages/api/v1alpha1/convert.ts";
import { alpha, anObject, beta, CLAIM_STATE, POD, specOf, toAlpha, toBeta } from "./versions.ts";

const STATE = "api.agents.x-k8s.io/v1alpha1-sandbox-state";

describe("a Sandbox", () => {
  test.for([
    { replicas: undefined, mode: "Running" },
    { replicas: 1, mode: "Running" },
    { replicas: 0, mode: "Suspended" },
  ])("of $replicas replicas is $mode", ({ replicas, mode }) => {
    const before = alpha("Sandbox", {
      podTemplate: POD,
      service: false,
      ...(replicas === undefined ? {} : { replicas }),
    });
    expect(specOf(toBeta(before))).toEqual({ podTemplate: POD, service: false, operatingMode: mode });
  });

  test("that says nothing of a Service gets one, and still says nothing of it in its own version", () => {
    const before = alpha("Sandbox", { podTemplate: POD, replicas: 1 });
    const after = toBeta(before);
    expect(specOf(after)).toEqual({ podTemplate: POD, service: true, operatingMode: "Running" });
    expect(JSON.parse(after.metadata.annotations?.[STATE] ?? "")).toEqual({ spec: { replicas: 1 } });
    expect(toAlpha(after)).toEqual(before);
  });

  test("of v1beta1 that says nothing of a Service does not get one by the way", () => {
    const before = beta("Sandbox", { podTemplate: POD, operatingMode: "Running" });
    expect(specOf(toAlpha(before))).toEqual({ podTemplate: POD, replicas: 1 });
    expect(toBeta(toAlpha(before))).toEqual(before);
  });

  test("that was suspended since then has no replicas, and one again when it was resumed", () => {
    const stored = toBeta(alpha("Sandbox", { podTemplate: POD, replicas: 0 }));
    const resumed = { ...stored, spec: { ...(specOf(stored) as object), operatingMode: "Running" } };
    expect(specOf(toAlpha(stored))).toEqual({ podTemplate: POD, replicas: 0 });
    expect(specOf(toAlpha(resumed))).toEqual({ podTemplate: POD, replicas: 1 });
  });

  test.for([{ podIPs: ["10.1.0.7"], replicas: 1 }, { podIPs: [], replicas: 0 }])(
    "with addresses $podIPs has a status of $replicas replicas, and no node",
    ({ podIPs, replicas }) => {
      const over = { status: { podIPs, nodeName: "n", service: "it" } };
      const after = toAlpha(beta("Sandbox", { podTemplate: POD, service: true, operatingMode: "Running" }, over));
      expect(after["status"]).toEqual({ podIPs, service: "it", replicas });
      expect(toBeta(after)["status"]).toEqual({ podIPs, service: "it" });
    },
  );
});

describe("a claim", () => {
  const refOf = (spec: object, over: object = {}) =>
    (specOf(toBeta(alpha("SandboxClaim", { sandboxTemplateRef: { name: "python" }, ...spec }, over))) as {
      warmPoolRef: { name: string };
    }).warmPoolRef.name;

  test.for([
    { name: "that names a pool", warmpool: "fast", want: "fast" },
    { name: "that takes any pool", warmpool: "default", want: "shadow-pool-python" },
    { name: "that wants none", warmpool: "none", want: "shadow-pool-python" },
    { name: "that says nothing", warmpool: undefined, want: "shadow-pool-python" },
    { name: "that has a member of a pool", warmpool: "default", bound: "my-fast-x7k", want: "my-fast" },
    { name: "that has a Sandbox of its own", warmpool: "default", bound: "it", want: "shadow-pool-python" },
    { name: "that names a pool and has another's member", warmpool: "fast", bound: "slow-1", want: "fast" },
  ])("$name is of pool $want", ({ warmpool, bound, want }) => {
    const over = bound === undefined ? {} : { status: { sandbox: { name: bound } } };
    expect(refOf(warmpool === undefined ? {} : { warmpool }, over)).toBe(want);
  });

  test.for([
    { name: "of a pool without members", ref: "shadow-pool-python", template: "python", warmpool: "default" },
    { name: "of a pool", ref: "fast", template: "fast", warmpool: "fast" },
  ])("of v1beta1 $name names template $template and pool $warmpool", ({ ref, template, warmpool }) => {
    const after = toAlpha(beta("SandboxClaim", { warmPoolRef: { name: ref } }));
    expect(specOf(after)).toEqual({ sandboxTemplateRef: { name: template }, warmpool });
  });

  test("that was given a member of a pool says what it said, until it names another pool", () => {
    const before = alpha("SandboxClaim", { sandboxTemplateRef: { name: "python" }, warmpool: "none" });
    const stored = toBeta(before);
    expect(Object.keys(stored.metadata.annotations ?? {})).toEqual([CLAIM_STATE]);
    const naming = (name: string) => specOf(toAlpha({ ...stored, spec: { warmPoolRef: { name } } }));
    expect(naming("shadow-pool-python")).toEqual(specOf(before));
    expect(naming("other")).toEqual({ sandboxTemplateRef: { name: "python" }, warmpool: "other" });
    const bound = { ...stored, status: { sandbox: { name: "fast-1" } }, spec: { warmPoolRef: { name: "fast" } } };
    expect(specOf(toAlpha(bound))).toEqual(specOf(before));
  });

  test.for([
    ["default"],
    ["default", "default-mwz0"],
    ["default", "other-mwz0"],
    ["default", "it"],
    ["none"],
    ["none", "x"],
    ["shadow-pool-"],
    ["shadow-pool-python", "fast-1"],
    ["fast", "slow-1"],
  ])("of v1beta1 of pool %s, with Sandbox %s, is of that pool when v1alpha1 has written it back", ([pool, bound]) => {
    const over = bound === undefined ? {} : { status: { sandbox: { name: bound } } };
    const before = beta("SandboxClaim", { warmPoolRef: { name: pool } }, over);
    expect(toBeta(toAlpha(before))).toEqual(before);
    const { annotations = {} } = toAlpha(before).metadata;
    // Where the name says it all there is nothing to note.
    if (pool === "fast") expect(annotations).toEqual({});
    const later = { ...toAlpha(before), spec: { sandboxTemplateRef: { name: "python" }, warmpool: "quick" } };
    expect(toBeta(later)).toMatchObject({ spec: { warmPoolRef: { name: "quick" } } });
    expect(Object.keys(toBeta(later).metadata.annotations ?? {})).toEqual([CLAIM_STATE]);
  });

  test("of v1alpha1 that now names a pool called default is of that pool when v1alpha1 has written it back", () => {
    const stored = toBeta(alpha("SandboxClaim", { sandboxTemplateRef: { name: "python" }, warmpool: "fast" }));
    const renamed = { ...stored, spec: { warmPoolRef: { name: "default" } } };
    expect(toBeta(toAlpha(renamed))).toMatchObject({ spec: { warmPoolRef: { name: "default" } } });
  });

  test.for(["1", "[]", "{", '{"name":1,"template":"a"}', '{"name":"x"}'])(
    "with an annotation of a pool that is none of ours, %s, keeps it",
    (text) => {
      const key = "api.agents.x-k8s.io/v1beta1-warm-pool-ref";
      const before = beta("SandboxClaim", { warmPoolRef: { name: "fast" } });
      const annotatedBefore = { ...before, metadata: { ...before.metadata, annotations: { [key]: text } } };
      expect(toBeta(toAlpha(annotatedBefore))).toEqual(annotatedBefore);
    },
  );

  test("with volumes of its own keeps them", () => {
    const before = beta("SandboxClaim", { warmPoolRef: { name: "p" }, volumeClaimTemplates: [{ spec: {} }] });
    expect(specOf(toAlpha(before))).not.toHaveProperty("volumeClaimTemplates");
    expect(toBeta(toAlpha(before))["spec"]).toEqual(specOf(before));
  });
});

describe("a template", () => {
  const POLICY = "api.agents.x-k8s.io/v1beta1-volume-claim-templates-policy";

  test("keeps what it says of claims' volumes in an annotation", () => {
    const before = beta("SandboxTemplate", { podTemplate: POD, volumeClaimTemplatesPolicy: "Allowed" });
    const after = toAlpha(before);
    expect(specOf(after)).toEqual({ podTemplate: POD });
    expect(after.metadata.annotations).toEqual({ [POLICY]: "Allowed" });
    expect(toBeta(after)).toEqual(before);
  });
});

test.for([
  { name: "another kind", object: alpha("Pod", {}), version: "v1beta1" },
  { name: "another version", object: alpha("Sandbox", {}), version: "v2" },
  { name: "an object of another version", object: anObject("v2", "Sandbox", {}), version: "v1beta1" },
])("$name is refused", ({ object, version }) => {
  expect(() => convertObject(object, version)).toThrow("it is not known");
});
