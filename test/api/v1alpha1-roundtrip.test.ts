/** Objects of both versions are unchanged after a conversion and its reverse. @module */
import { describe, expect, test } from "vitest";
import { convertObject } from "../../packages/api/v1alpha1/convert.ts";
import fc from "../properties.ts";
import { alpha, beta, POD, specOf, toAlpha, toBeta } from "./versions.ts";

describe("there and back again", () => {
  const name = fc.constantFrom(
    "a",
    "python",
    "fast-1",
    "default",
    "none",
    "it",
    "shadow-pool-a",
    "shadow-pool-default",
  );
  const maybe = <T>(value: fc.Arbitrary<T>, key: string) =>
    fc.oneof(fc.constant({}), value.map((it) => ({ [key]: it })));
  const merged = (...parts: fc.Arbitrary<object>[]) =>
    fc.tuple(...parts).map((list) => Object.assign({}, ...list) as object);
  const common = [
    fc.constant({ podTemplate: POD }),
    maybe(fc.boolean(), "service"),
    maybe(fc.constant("Retain"), "shutdownPolicy"),
  ];
  const bound = fc.oneof(fc.constant({}), name.map((it) => ({ status: { sandbox: { name: it } } })));
  const claimSpec = [maybe(fc.constant([{ name: "A", value: "b" }]), "env")];
  const alphas = fc.oneof(
    merged(...common, maybe(fc.integer({ min: 0, max: 1 }), "replicas")).map((spec) => alpha("Sandbox", spec)),
    fc.tuple(
      merged(
        ...claimSpec,
        name.map((it) => ({ sandboxTemplateRef: { name: it } })),
        maybe(name, "warmpool"),
      ),
      bound,
    ).map(([spec, over]) => alpha("SandboxClaim", spec, over)),
    fc.integer({ min: 0, max: 5 }).map((replicas) => alpha("SandboxWarmPool", { replicas })),
    fc.constant(alpha("SandboxTemplate", { podTemplate: POD })),
  );
  const betas = fc.oneof(
    merged(...common, fc.constantFrom("Running", "Suspended").map((operatingMode) => ({ operatingMode }))).map((spec) =>
      beta("Sandbox", spec)
    ),
    fc.tuple(
      merged(
        ...claimSpec,
        name.map((it) => ({ warmPoolRef: { name: it } })),
        maybe(fc.constant([{ metadata: { name: "v" }, spec: {} }]), "volumeClaimTemplates"),
      ),
      bound,
    ).map(([spec, over]) => beta("SandboxClaim", spec, over)),
    merged(fc.constant({ podTemplate: POD }), maybe(fc.constant("Overrides"), "volumeClaimTemplatesPolicy")).map((
      spec,
    ) => beta("SandboxTemplate", spec)),
    fc.integer({ min: 0, max: 5 }).map((replicas) => beta("SandboxWarmPool", { replicas })),
  );

  test("an object of v1alpha1 is what it was", () => {
    fc.assert(fc.property(alphas, (object) => void expect(toAlpha(toBeta(object))).toEqual(object)), { numRuns: 1000 });
  });

  test("an object of v1beta1 is what it was", () => {
    fc.assert(fc.property(betas, (object) => void expect(toBeta(toAlpha(object))).toEqual(object)), { numRuns: 1000 });
  });

  test("an object of either version that the other has changed is of the pool, mode and size that it was changed to", () => {
    const changed = fc.tuple(alphas, betas).filter(([before, { kind }]) => before.kind === kind);
    fc.assert(
      fc.property(changed, ([before, { spec }]) => {
        const now = { ...toBeta(before), spec };
        expect(specOf(toBeta(toAlpha(now)))).toEqual(spec);
        const { spec: _, ...rest } = toAlpha(now);
        const back = { ...rest, spec: before["spec"] };
        expect(specOf(toAlpha(toBeta(back)))).toEqual(before["spec"]);
      }),
      { numRuns: 1000 },
    );
  });

  test("metadata that the API server keeps for itself is never changed", () => {
    fc.assert(fc.property(fc.oneof(alphas, betas), (object) => {
      const metadata = {
        ...object.metadata,
        uid: "u",
        labels: { a: "b" },
        annotations: { mine: "1" },
        finalizers: ["f"],
      };
      const other = object.apiVersion.endsWith("v1beta1") ? "v1alpha1" : "v1beta1";
      const converted = convertObject({ ...object, metadata }, other).metadata;
      expect({ ...converted, annotations: { mine: "1" } }).toEqual(metadata);
      expect(converted.annotations).toMatchObject({ mine: "1" });
    }));
  });
});
