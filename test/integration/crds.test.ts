/** The CRDs on a real API server: what it takes, refuses, fills in, merges and shows. No controller is needed. @module */
import { readFileSync } from "node:fs";
import { request, type RequestOptions } from "node:https";
import { text } from "node:stream/consumers";
import { KubeConfig } from "@kubernetes/client-node";
import { afterAll, beforeAll, describe, expect, inject, test, vi } from "vitest";
import { parse } from "yaml";
import type { KubeObject } from "../../lib/objects.ts";
import { crdFile } from "../../tools/crdgen/crd.ts";
import { readDefinitions } from "../../tools/crdgen/data.ts";
import { kinds } from "../../tools/crdgen/kinds.ts";
import { fetchDefinitions, fromKubeconfig } from "../../tools/crdgen/fetch.ts";
import { CRD_FOLDER } from "../../tools/crdgen/files.ts";
import { type OpenAPISchema, referenceOf } from "../../tools/crdgen/openapi.ts";
import { accepted, BLUEPRINT, claim, pool, refusedSpecs, refusedStatuses, sandbox, template } from "../api/samples.ts";
import { run } from "./kubectl.ts";

// deno-lint-ignore no-explicit-any -- answers of the API server are compared, not computed with
type Json = any;

const JSON_TYPE = "application/json";
const MERGE_PATCH = "application/merge-patch+json";
const APPLY_PATCH = "application/apply-patch+yaml";
const TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io";
const CRD_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

const config = new KubeConfig();
config.loadFromFile(inject("kubeconfig"));
const namespace = `crds-${Date.now().toString(36)}`;

/** Sends one request as the API server wants it: the typed client would rename `default` and `enum` in a CRD. */
async function send(method: string, path: string, body?: unknown, type = JSON_TYPE, accept = JSON_TYPE) {
  const options: RequestOptions = { method, headers: { accept, "content-type": type } };
  await config.applyToHTTPSOptions(options);
  return await new Promise<{ code: number; body: Json }>((resolve, reject) => {
    const sent = request(new URL(path, config.getCurrentCluster()?.server), options, (answer) => {
      text(answer).then((body) => resolve({ code: answer.statusCode ?? 0, body: JSON.parse(body) })).catch(reject);
    });
    sent.on("error", reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/** Path of the collection that an object belongs to, in the namespace of this file. */
function collection({ apiVersion, kind }: { apiVersion: string; kind: string }): string {
  const plural = kinds.find(({ resource }) => resource.kind === kind)?.resource.plural;
  return `/apis/${apiVersion}/namespaces/${namespace}/${plural}`;
}

function named(object: KubeObject, name: string): KubeObject {
  return { ...object, metadata: { ...object.metadata, name } };
}

const dryRun = (object: KubeObject) =>
  send("POST", `${collection(object)}?dryRun=All&fieldValidation=Strict`, named(object, "dry"));
const create = (object: KubeObject, name: string) => send("POST", collection(object), named(object, name));
const patch = (object: KubeObject, path: string, change: unknown) =>
  send("PATCH", `${collection(object)}/${path}`, change, MERGE_PATCH);

/** Writes the status of an object that exists, without keeping it: hooks may be at work in the same cluster. */
function writeStatus(object: KubeObject, name: string, accept = JSON_TYPE) {
  const path = `${collection(object)}/${name}/status?dryRun=All&fieldValidation=Strict`;
  return send("PATCH", path, { status: object["status"] }, MERGE_PATCH, accept);
}

function apply(object: KubeObject, name: string, manager: string) {
  const path = `${collection(object)}/${name}?fieldManager=${manager}&fieldValidation=Strict`;
  return send("PATCH", path, named(object, name), APPLY_PATCH);
}

/** Fields that the API server's refusal names. */
function causes(body: Json): string {
  return [...(body.details?.causes ?? []).map(({ field }: { field: string }) => field), body.message].join("\n");
}

beforeAll(async () => {
  for (const { resource } of kinds) {
    const crd = parse(readFileSync(new URL(crdFile(resource), CRD_FOLDER), "utf8"));
    const path = `${CRD_PATH}/${crd.metadata.name}?fieldManager=crds-test&force=true&fieldValidation=Strict`;
    const { code, body } = await send("PATCH", path, crd, APPLY_PATCH);
    expect(code, body.message).toBeLessThan(300);
  }
  await vi.waitFor(async () => {
    expect(await established()).toHaveLength(kinds.length);
    for (const object of [sandbox({}), claim({})]) expect((await send("GET", collection(object))).code).toBe(200);
  }, { timeout: 30_000, interval: 100 });
  await send("POST", "/api/v1/namespaces", { metadata: { name: namespace } });
});

afterAll(async () => {
  for (const object of [sandbox({}), template({}), pool({}), claim({})]) await send("DELETE", collection(object));
  await send("DELETE", `/api/v1/namespaces/${namespace}`);
});

/** Names of our CRDs that are Established and whose names were accepted. */
async function established(): Promise<string[]> {
  const { body } = await send("GET", CRD_PATH);
  const holds = (crd: Json, type: string) =>
    crd.status?.conditions?.some((c: Json) => c.type === type && c.status === "True");
  const ours = new Set(kinds.map(({ resource }) => `${resource.plural}.${resource.group}`));
  return body.items
    .filter((crd: Json) => ours.has(crd.metadata.name) && holds(crd, "Established") && holds(crd, "NamesAccepted"))
    .map((crd: Json) => crd.metadata.name);
}

test("all four CRDs are established", async () => {
  expect((await established()).sort()).toEqual([
    "sandboxclaims.extensions.agents.x-k8s.io",
    "sandboxes.agents.x-k8s.io",
    "sandboxtemplates.extensions.agents.x-k8s.io",
    "sandboxwarmpools.extensions.agents.x-k8s.io",
  ]);
});

test("refresh finds what the CRDs embed on this API server", async () => {
  const { kubernetes, definitions } = await fetchDefinitions(fromKubeconfig(inject("kubeconfig")));
  expect(kubernetes).toMatch(/^v1\.\d+/);
  expect(definitions["io.k8s.api.core.v1.PodSpec"]).toMatchObject({ required: ["containers"] });
  await expect(fromKubeconfig(inject("kubeconfig"))("/openapi/v3/apis/none")).rejects.toThrow("answered 404");
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
      expect((await create(object, name)).body.status, "status is written through its subresource only")
        .toBeUndefined();
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

  test("all else can change beside them", async () => {
    const object = sandbox({ ...BLUEPRINT, volumeClaimTemplates: one });
    await create(object, "volumes-kept");
    const change = { spec: { volumeClaimTemplates: one, operatingMode: "Suspended", podTemplate: { metadata: {} } } };
    expect(await patch(object, "volumes-kept", change)).toMatchObject({
      code: 200,
      body: { spec: { operatingMode: "Suspended" } },
    });
  });
});

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

describe("kubectl get", () => {
  const ready = {
    type: "Ready",
    status: "False",
    reason: "PodFailed",
    message: "",
    lastTransitionTime: "2026-01-02T03:04:05Z",
  };
  const cases = [
    {
      object: sandbox(BLUEPRINT, { conditions: [ready] }),
      want: { Name: "row", Ready: "False", Reason: "PodFailed" },
    },
    {
      object: claim({ warmPoolRef: { name: "p" } }, { conditions: [ready], sandbox: { name: "given" } }),
      want: { Name: "row", Ready: "False", Sandbox: "given", Reason: "PodFailed" },
    },
    {
      object: pool({ sandboxTemplateRef: { name: "t" }, replicas: 4 }, { readyReplicas: 3 }),
      want: { Name: "row", Ready: 3, Desired: 4 },
    },
  ];
  test.for(cases)("shows the columns of $object.kind", async ({ object, want }) => {
    await create(object, "row");
    const { body } = await writeStatus(object, "row", TABLE);
    const headers = body.columnDefinitions.map((column: { name: string }) => column.name);
    const { Age, ...shown } = Object.fromEntries(
      headers.map((name: string, at: number) => [name, body.rows[0].cells[at]]),
    );
    expect(Age).toEqual(expect.any(String));
    expect(shown).toEqual(want);
  });

  test("finds the kinds by short name and by the category agents", async () => {
    const objects = [
      sandbox(BLUEPRINT),
      claim({ warmPoolRef: { name: "none" } }),
      template(BLUEPRINT),
      pool({ sandboxTemplateRef: { name: "none" } }),
    ];
    for (const object of objects) await create(object, "listed");
    const cluster = { kubectl: inject("kubectl"), kubeconfig: inject("kubeconfig") };
    const get = async (what: string) => {
      const which = ["-n", namespace, "--field-selector", "metadata.name=listed", "-o", "name"];
      return (await run(cluster, ["get", what, ...which])).trim().split("\n");
    };
    const names = [
      "sandbox.agents.x-k8s.io/listed",
      "sandboxclaim.extensions.agents.x-k8s.io/listed",
      "sandboxtemplate.extensions.agents.x-k8s.io/listed",
      "sandboxwarmpool.extensions.agents.x-k8s.io/listed",
    ];
    expect(await get("sbx,sbxc,sbxt,swp")).toEqual(names);
    expect(await get("sandbox,sandboxclaim,sandboxtemplate,swp")).toEqual(names);
    expect((await get("agents")).sort()).toEqual(names);
  });
});

test("kubectl scale sets a pool's replicas", async () => {
  const object = pool({ sandboxTemplateRef: { name: "none" } });
  await create(object, "scaled");
  const { body } = await patch(object, "scaled/scale", { spec: { replicas: 5 } });
  expect(body).toMatchObject({ kind: "Scale", spec: { replicas: 5 } });
  expect((await send("GET", `${collection(object)}/scaled`)).body.spec.replicas).toBe(5);
});
