/** The CRDs on a real API server: what it serves, takes, refuses and fills in. No controller is needed. @module */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fetchDefinitions, fromKubeconfig } from "../../dev/crdgen/fetch.ts";
import { kinds } from "../../dev/crdgen/crd.ts";
import { refusedSpecs, refusedStatuses } from "../api/refused.ts";
import { eventually } from "../eventually.ts";
import { accepted, BLUEPRINT, pool, sandbox, template } from "../api/samples.ts";
import { begin, causes, cluster, create, dryRun, end, established, patch, send, writeStatus } from "./crds-world.ts";

beforeAll(begin);
afterAll(end);

test("all four CRDs are established", async () => {
  expect((await established()).sort()).toEqual([
    "sandboxclaims.extensions.agents.x-k8s.io",
    "sandboxes.agents.x-k8s.io",
    "sandboxtemplates.extensions.agents.x-k8s.io",
    "sandboxwarmpools.extensions.agents.x-k8s.io",
  ]);
});

test("refresh finds what the CRDs embed on this API server", async () => {
  const { kubernetes, definitions } = await fetchDefinitions(fromKubeconfig(cluster.kubeconfig));
  expect(kubernetes).toMatch(/^v1\.\d+/);
  expect(definitions["io.k8s.api.core.v1.PodSpec"]).toMatchObject({ required: ["containers"] });
  await expect(fromKubeconfig(cluster.kubeconfig)("/openapi/v3/apis/none")).rejects.toThrow("answered 404");
});

test("v1beta1 is the only version", async () => {
  for (const group of ["agents.x-k8s.io", "extensions.agents.x-k8s.io"]) {
    const { body } = await send("GET", `/apis/${group}`);
    expect(body.versions.map(({ version }: { version: string }) => version)).toEqual(["v1beta1"]);
  }
});

describe("what the parsers take, the API server takes, with the same defaults", () => {
  test.for(accepted)("$name", async ({ object }) => {
    const { code, body } = await dryRun(object);
    expect(code, body.message).toBe(201);
    const schema = kinds.find(({ resource }) => resource.kind === object.kind)?.schema;
    const { spec } = schema?.parse(object) as { spec: unknown };
    expect(body.spec).toEqual(spec);
    expect(schema?.parse(body)).toEqual(body);
  });

  test.for(accepted.filter(({ object }) => object["status"] !== undefined))(
    "status: $name",
    async ({ object }, ctx) => {
      const name = `status-${ctx.task.id.replaceAll(/[^a-z0-9]/g, "")}`;
      const preset = object.kind === "Sandbox" ? { observedGeneration: 1 } : undefined;
      expect((await create(object, name)).body.status, "status is written through its subresource only")
        .toEqual(preset);
      const { code, body } = await writeStatus(object, name);
      expect(code, body.message).toBe(200);
      expect(body.status).toEqual(object["status"]);
    },
  );
});

describe("what the parsers refuse, the API server refuses, naming the field", () => {
  test.for(refusedSpecs)("$name", async ({ object, field }) => {
    const { code, body } = await dryRun(object);
    expect(code).toBe(422);
    expect(causes(body)).toContain(field);
  });

  test.for(refusedStatuses)("$name", async ({ object, field }, ctx) => {
    const name = `refused-${ctx.task.id.replaceAll(/[^a-z0-9]/g, "")}`;
    await create(object, name);
    const { code, body } = await writeStatus(object, name);
    expect(code).toBe(422);
    expect(causes(body)).toContain(field);
  });
});

describe("what only the API server refuses", () => {
  const pod = (change: object) => sandbox({ podTemplate: { spec: { containers: [{ name: "main", ...change }] } } });
  const cases = [
    { field: "shutdownTime", code: 422, object: sandbox({ ...BLUEPRINT, shutdownTime: "tomorrow" }) },
    { field: "limits.cpu", code: 422, object: pod({ resources: { limits: { cpu: "1X" } } }) },
    { field: "containers[0].tty", code: 422, object: pod({ tty: "yes" }) },
    { field: "env[1]", code: 422, object: pod({ env: [{ name: "A", value: "1" }, { name: "A", value: "2" }] }) },
    {
      field: "spec.podTemplate.metadata.name",
      code: 400,
      object: sandbox({ podTemplate: { metadata: { name: "x" } } }),
    },
    { field: "spec.replicas", code: 400, object: sandbox({ ...BLUEPRINT, replicas: 1 }) },
    {
      field: "networkPolicy.podSelector",
      code: 400,
      object: template({ ...BLUEPRINT, networkPolicy: { podSelector: {} } }),
    },
  ];
  test.for(cases)("$field", async ({ field, code, object }) => {
    const answer = await dryRun(object);
    expect(answer.code).toBe(code);
    expect(causes(answer.body)).toContain(field);
  });
});

describe("volumeClaimTemplates of a Sandbox are immutable", () => {
  const one = [{ metadata: { name: "data" }, spec: { resources: { requests: { storage: "1Gi" } } } }];
  const other = [{ metadata: { name: "data" }, spec: { resources: { requests: { storage: "2Gi" } } } }];
  const cases = [
    { name: "added", from: undefined, to: one },
    { name: "emptied", from: one, to: [] },
    { name: "removed", from: one, to: null },
    { name: "changed", from: one, to: other },
    { name: "set-to-none", from: undefined, to: [] },
  ];
  test.for(cases)("$name", async ({ name, from, to }) => {
    const object = sandbox({ ...BLUEPRINT, ...(from ? { volumeClaimTemplates: from } : {}) });
    await create(object, `volumes-${name}`);
    const { code, body } = await patch(object, `volumes-${name}`, { spec: { volumeClaimTemplates: to } });
    expect(code).toBe(422);
    expect(body.message).toContain("volumeClaimTemplates is immutable");
  });

  test("everything else can change", async () => {
    const object = sandbox({ ...BLUEPRINT, volumeClaimTemplates: one });
    await create(object, "volumes-kept");
    const change = { spec: { volumeClaimTemplates: one, operatingMode: "Suspended", podTemplate: { metadata: {} } } };
    expect(await patch(object, "volumes-kept", change)).toMatchObject({
      code: 200,
      body: { spec: { operatingMode: "Suspended" } },
    });
  });
});

describe("a Sandbox with a Service has a name of 63 characters at most", () => {
  const long = "n".repeat(64);
  const served = sandbox({ ...BLUEPRINT, service: true });
  const message = "metadata.name must be no more than 63 characters when spec.service is true";

  test("it is refused beyond, and one without a Service is not", async () => {
    expect((await create(served, long)).body.message).toContain(message);
    expect(await create(served, "n".repeat(63))).toMatchObject({ code: 201 });
    expect(await create(sandbox(BLUEPRINT), long)).toMatchObject({ code: 201 });
    const changed = await patch(served, long, { spec: { service: true } });
    expect([changed.code, changed.body.message]).toEqual([422, expect.stringContaining(message)]);
  });

  test("one that was let in before the rule has its status and spec written, and its finalizers go", async () => {
    const name = "o".repeat(64);
    const crd = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/sandboxes.agents.x-k8s.io`;
    const rules = `/spec/versions/0/schema/openAPIV3Schema/x-kubernetes-validations`;
    const { body } = await send("GET", crd);
    const rule = body.spec.versions[0].schema.openAPIV3Schema["x-kubernetes-validations"];
    const jsonPatch = (patch: object[]) => send("PATCH", crd, patch, "application/json-patch+json");
    // Other files on this cluster make no Sandboxes of such names.
    await jsonPatch([{ op: "remove", path: rules }]);
    const metadata = { finalizers: ["example.com/stay"] };
    let made: Awaited<ReturnType<typeof create>> | undefined;
    try {
      await eventually(async () => {
        made = await create({ ...served, metadata: { ...served.metadata, ...metadata } }, name);
        return made.code;
      }).toBe(201);
    } finally {
      await jsonPatch([{ op: "add", path: rules, value: rule }]);
    }
    await eventually(async () => (await create(served, "p".repeat(64))).code).toBe(422);
    const status = { conditions: [], podIPs: ["10.1.0.7"] };
    expect(await writeStatus({ ...served, status }, name)).toMatchObject({ code: 200 });
    expect(await patch(served, name, { spec: { operatingMode: "Suspended" } })).toMatchObject({ code: 200 });
    expect(await patch(served, name, { metadata: { finalizers: null } })).toMatchObject({ code: 200 });
  });
});

describe("what a pool gives to claims", () => {
  const giving = (lifecycle: object) => pool({ sandboxTemplateRef: { name: "t" }, claimDefaults: { lifecycle } });

  test("is a lifecycle without an absolute time, and not before the end", async () => {
    expect(await dryRun(giving({ shutdownPolicy: "Delete", ttlSecondsAfterFinished: 1 }))).toMatchObject({ code: 201 });
    for (const lifecycle of [{ shutdownTime: "2030-01-01T00:00:00Z" }, { ttlSecondsAfterFinished: 0 }]) {
      const { code, body } = await dryRun(giving(lifecycle));
      expect([code, body.message]).toEqual([422, expect.stringContaining("in claimDefaults")]);
    }
  });
});
