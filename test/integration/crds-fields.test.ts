/** The CRDs on a real API server: which fields it keeps, and how it merges lists. @module */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type OpenAPISchema, readDefinitions, referenceOf } from "../../dev/crdgen/openapi.ts";
import { BLUEPRINT, sandbox, template } from "../api/samples.ts";
import { apply, begin, dryRun, end } from "./crds-world.ts";

beforeAll(begin);
afterAll(end);

test("server-side apply merges containers, variables and ports by their keys", async () => {
  const pod = (...containers: object[]) => sandbox({ podTemplate: { spec: { containers } } });
  const main = { name: "main", image: "a", env: [{ name: "A", value: "1" }], ports: [{ containerPort: 80 }] };
  await apply(pod(main), "merged", "one");
  const ports = [{ containerPort: 80, protocol: "UDP" }];
  const more = pod({ name: "main", env: [{ name: "B", value: "2" }], ports }, { name: "side", image: "b" });
  const { code, body } = await apply(more, "merged", "two");
  expect(code, body.message).toBe(200);
  expect(body.spec.podTemplate.spec.containers).toEqual([
    {
      name: "main",
      image: "a",
      env: [{ name: "A", value: "1" }, { name: "B", value: "2" }],
      ports: [{ containerPort: 80, protocol: "TCP" }, { containerPort: 80, protocol: "UDP" }],
    },
    { name: "side", image: "b" },
  ]);
});

describe("every field of the embedded specs survives", () => {
  const { definitions } = readDefinitions();
  const example = (name: string) => everyField({ $ref: name });

  /** Makes a value that uses every field below a schema. */
  function everyField(schema: OpenAPISchema): unknown {
    const name = referenceOf(schema);
    if (name?.endsWith(".IntOrString")) return "50%";
    if (name?.endsWith(".Quantity")) return "1Gi";
    if (name?.endsWith(".ObjectMeta")) return { labels: { a: "b" }, annotations: { c: "d" } };
    if (name !== undefined) return everyField(definitions[name] ?? {});
    if (schema.items) return [everyField(schema.items)];
    if (schema.properties) {
      const fields = Object.entries(schema.properties).map(([field, inner]) => [field, everyField(inner)]);
      return Object.fromEntries(fields);
    }
    if (typeof schema.additionalProperties === "object") return { key: everyField(schema.additionalProperties) };
    return { string: "text", integer: 7, boolean: true, object: {} }[schema.type ?? ""];
  }

  test("of a Pod and a PersistentVolumeClaim", async () => {
    const spec = {
      podTemplate: { spec: example("io.k8s.api.core.v1.PodSpec") },
      volumeClaimTemplates: [{ spec: example("io.k8s.api.core.v1.PersistentVolumeClaimSpec") }],
    };
    const { code, body } = await dryRun(sandbox(spec));
    expect(code, body.message).toBe(201);
    expect(body.spec).toMatchObject(spec);
    expect(JSON.stringify(body.spec).length, "fields that carry no default").toBeGreaterThan(10_000);
  });

  test("of a NetworkPolicy's rules", async () => {
    const networkPolicy = {
      ingress: [example("io.k8s.api.networking.v1.NetworkPolicyIngressRule")],
      egress: [example("io.k8s.api.networking.v1.NetworkPolicyEgressRule")],
    };
    const { code, body } = await dryRun(template({ ...BLUEPRINT, networkPolicy }));
    expect(code, body.message).toBe(201);
    expect(body.spec.networkPolicy).toEqual(networkPolicy);
  });
});
