/** The old version of each CRD says what it has always said, and is converted by our hook. */
import { expect, test } from "vitest";
import { buildCRD, kinds } from "../../../dev/crdgen/crd.ts";
import { readDefinitions } from "../../../dev/crdgen/openapi.ts";
import { v1alpha1Of } from "../../../packages/api/v1alpha1/crd.ts";

// deno-lint-ignore no-explicit-any -- schemas are looked into, not computed with
type Json = any;

const { definitions } = readDefinitions();
const [now, both] = [false, true].map((withV1alpha1) =>
  Object.fromEntries(
    kinds.map((kind): [string, Json] => [kind.resource.kind, buildCRD(kind, definitions, withV1alpha1).spec]),
  )
) as [Json, Json];
const specOf = (version: Json) => version.schema.openAPIV3Schema.properties.spec;
const statusOf = (version: Json) => version.schema.openAPIV3Schema.properties.status;

test.for(kinds.map(({ resource }) => resource.kind))(
  "of %s v1beta1 stays as it is, stored, and v1alpha1 warns",
  (kind) => {
    const [beta, alpha, ...others] = both[kind].versions;
    expect(others).toEqual([]);
    expect(beta).toEqual(now[kind].versions[0]);
    expect(alpha).toMatchObject({ name: "v1alpha1", served: true, storage: false, deprecated: true });
    expect(alpha.deprecationWarning).toBe(
      `${both[kind].group}/v1alpha1 ${kind} is deprecated; use ${both[kind].group}/v1beta1 ${kind} instead`,
    );
    expect(both[kind].conversion.webhook.clientConfig.service).toMatchObject({ name: "conversion", path: "/convert" });
    expect(now[kind].conversion).toEqual({ strategy: "None" });
  },
);

test.for([
  {
    kind: "Sandbox",
    spec: { gone: ["operatingMode"], come: ["replicas"] },
    status: { gone: ["nodeName"], come: ["replicas"] },
  },
  { kind: "SandboxTemplate", spec: { gone: ["volumeClaimTemplatesPolicy"], come: [] } },
  { kind: "SandboxWarmPool", spec: { gone: [], come: [] }, status: { gone: ["observedGeneration"], come: [] } },
  {
    kind: "SandboxClaim",
    spec: { gone: ["volumeClaimTemplates", "warmPoolRef"], come: ["sandboxTemplateRef", "warmpool"] },
    status: { gone: [], come: [] },
  },
])("fields of $kind", ({ kind, spec, status }) => {
  const [beta, alpha] = both[kind].versions;
  const differ = (before: Json, after: Json) => {
    const [had, has] = [before, after].map(({ properties }) => Object.keys(properties));
    return {
      gone: had!.filter((name) => !has!.includes(name)).sort(),
      come: has!.filter((name) => !had!.includes(name)).sort(),
    };
  };
  expect(differ(specOf(beta), specOf(alpha))).toEqual(spec);
  if (status) expect(differ(statusOf(beta), statusOf(alpha))).toEqual(status);
  else expect(statusOf(alpha)).toBeUndefined();
});

test("what v1alpha1 requires, presets and scales", () => {
  const alpha = (kind: string) => both[kind].versions[1];
  expect(specOf(alpha("Sandbox")).properties.replicas).toMatchObject({ default: 1, minimum: 0, maximum: 1 });
  expect(specOf(alpha("Sandbox"))["x-kubernetes-validations"]).toBeUndefined();
  expect(alpha("Sandbox").subresources.scale).toMatchObject({ specReplicasPath: ".spec.replicas" });
  expect(specOf(alpha("SandboxWarmPool")).required).toEqual(["replicas", "sandboxTemplateRef"]);
  expect(specOf(alpha("SandboxWarmPool")).properties.replicas).not.toHaveProperty("default");
  expect(specOf(alpha("SandboxClaim")).required).toEqual(["sandboxTemplateRef"]);
  expect(specOf(alpha("SandboxClaim")).properties.warmpool.default).toBe("default");
});

test("of a kind that is not known nothing is made", () => {
  const { resource } = kinds[0]!;
  expect(() => v1alpha1Of({ ...resource, kind: "Pod" }, {})).toThrow("Cannot make v1alpha1 of Pod: it is not known");
});
