/** The CRDs in crds/: fresh, described, and with the names, columns, defaults and enums of the contract. @module */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { DEFINITION } from "../../packages/api/blueprint.ts";
import { requiredVersion } from "../../dev/cluster/programs.ts";
import {
  complaint,
  CRD_FOLDER,
  crdFile,
  desiredFiles,
  kinds,
  staleFiles,
  V1ALPHA1_CRD_FOLDER,
} from "../../dev/crdgen/crd.ts";
import { type OpenAPISchema, readDefinitions } from "../../dev/crdgen/openapi.ts";
import { toOpenAPI } from "../../dev/crdgen/structural.ts";
import { aClaim, aPool } from "../pools.ts";

const crds = kinds.map(({ resource }) => parse(readFileSync(new URL(crdFile(resource), CRD_FOLDER), "utf8")));
const byKind = new Map(crds.map((crd) => [crd.spec.names.kind, crd]));
const versionOf = (kind: string) => byKind.get(kind).spec.versions[0];

/** Lists every field below a schema, as path and schema. */
function fields(schema: OpenAPISchema, path = ""): [string, OpenAPISchema][] {
  const named = Object.entries(schema.properties ?? {}).map(([name, inner]) => [`${path}.${name}`, inner] as const);
  const inner = [...named, ...(schema.items ? [[`${path}[]`, schema.items] as const] : [])];
  return [
    ...(path === "" ? [] : [[path, schema] as [string, OpenAPISchema]]),
    ...inner.flatMap(([p, s]) => fields(s, p)),
  ];
}

/** Lists what one key says in a CRD, by field; the key of a field in an embedded Kubernetes spec is its last two names. */
function said(kind: string, key: string): Record<string, unknown> {
  const found = fields(versionOf(kind).schema.openAPIV3Schema).filter(([, schema]) => schema[key] !== undefined);
  return Object.fromEntries(found.map(([path, schema]) => [shorten(path), schema[key]]));
}

function shorten(path: string): string {
  const isEmbedded = path.startsWith(".spec.podTemplate.spec.");
  return isEmbedded ? path.split(".").slice(-2).join(".") : path;
}

test("crds/ is what api/ says", () => {
  expect(complaint(staleFiles(desiredFiles(), CRD_FOLDER))).toBeUndefined();
  expect(complaint(staleFiles(desiredFiles(true), V1ALPHA1_CRD_FOLDER))).toBeUndefined();
});

test.for(kinds)("every field of $resource.kind is described", ({ schema }) => {
  const ours = fields(toOpenAPI(schema)).filter(([path]) => /^\.(spec|status)\b/.test(path));
  // What stands below an embedded definition, and the strings of a list, are described by what holds them.
  const embedded = ours.filter(([, inner]) => inner[DEFINITION] !== undefined).map(([path]) => path);
  const own = ours.filter(([path, inner]) =>
    !embedded.some((root) => path.startsWith(`${root}.`)) && !(path.endsWith("[]") && inner.type === "string")
  );
  expect(own.length).toBeGreaterThan(3);
  expect(own.filter(([, inner]) => !/^[A-Z].*\.$/.test(inner.description ?? "")).map(([path]) => path)).toEqual([]);
});

test("names, short names and the category", () => {
  expect(crds.map(({ spec: { names, group, scope } }) => [`${names.plural}.${group}`, ...names.shortNames, scope]))
    .toEqual([
      ["sandboxes.agents.x-k8s.io", "sandbox", "sbx", "Namespaced"],
      ["sandboxtemplates.extensions.agents.x-k8s.io", "sandboxtemplate", "sbxt", "Namespaced"],
      ["sandboxwarmpools.extensions.agents.x-k8s.io", "swp", "Namespaced"],
      ["sandboxclaims.extensions.agents.x-k8s.io", "sandboxclaim", "sbxc", "Namespaced"],
    ]);
  expect(crds.map((crd) => crd.metadata.name)).toEqual(crds.map(({ spec }) => `${spec.names.plural}.${spec.group}`));
  expect(crds.map((crd) => crd.spec.names.categories)).toEqual([["agents"], ["agents"], ["agents"], ["agents"]]);
});

test("one version, stored as it is served", () => {
  for (const { spec } of crds) {
    expect(spec.conversion).toEqual({ strategy: "None" });
    expect(spec.versions).toMatchObject([{ name: "v1beta1", served: true, storage: true }]);
  }
});

test("subresources", () => {
  expect(crds.map(({ spec }) => spec.versions[0].subresources)).toEqual([
    { status: {} },
    undefined,
    {
      status: {},
      scale: {
        specReplicasPath: ".spec.replicas",
        statusReplicasPath: ".status.replicas",
        labelSelectorPath: ".status.selector",
      },
    },
    { status: {} },
  ]);
});

test("columns of kubectl get", () => {
  const columns = (kind: string) =>
    versionOf(kind).additionalPrinterColumns?.map((c: { name: string; type: string; jsonPath: string }) =>
      `${c.name} ${c.type} ${c.jsonPath}`
    );
  const ready = "Ready string .status.conditions[?(@.type=='Ready')].status";
  const reason = "Reason string .status.conditions[?(@.type=='Ready')].reason";
  const age = "Age date .metadata.creationTimestamp";
  expect(columns("Sandbox")).toEqual([ready, reason, age]);
  expect(columns("SandboxClaim")).toEqual([ready, "Sandbox string .status.sandbox.name", reason, age]);
  expect(columns("SandboxWarmPool")).toEqual([
    "Ready integer .status.readyReplicas",
    "Desired integer .spec.replicas",
    age,
  ]);
  expect(columns("SandboxTemplate")).toBeUndefined();
});

test("defaults of our own fields", () => {
  expect(said("SandboxWarmPool", "default")).toEqual({
    ".spec.replicas": 1,
    ".spec.updateStrategy.type": "OnReplenish",
    ".spec.claimDefaults.lifecycle.shutdownPolicy": "Retain",
  });
  expect(said("SandboxClaim", "default")).toMatchObject({ ".spec.lifecycle.shutdownPolicy": "Retain" });
  expect(said("SandboxTemplate", "default")).toMatchObject({
    ".spec.networkPolicyManagement": "Managed",
    ".spec.envVarsInjectionPolicy": "Disallowed",
    ".spec.volumeClaimTemplatesPolicy": "Disallowed",
  });
});

test("a Sandbox has the contract's defaults, a preset status, and no others", () => {
  expect(said("Sandbox", "default")).toEqual({
    ".status": { observedGeneration: 1 },
    ".spec.operatingMode": "Running",
    ".spec.shutdownPolicy": "Retain",
    "ports[].protocol": "TCP",
    "grpc.service": "",
    "configMapKeyRef.name": "",
    "secretKeyRef.name": "",
    "fileKeyRef.optional": false,
    "configMapRef.name": "",
    "secretRef.name": "",
    "imagePullSecrets[].name": "",
    "nodePublishSecretRef.name": "",
    "configMap.name": "",
    "secret.name": "",
    "azureDisk.fsType": "ext4",
    "azureDisk.readOnly": false,
    "iscsi.iscsiInterface": "default",
    "rbd.keyring": "/etc/ceph/keyring",
    "rbd.pool": "rbd",
    "rbd.user": "admin",
    "scaleIO.fsType": "xfs",
    "scaleIO.storageMode": "ThinProvisioned",
  });
});

test("a claim has no field for its Pod but variables, volumes, labels and annotations", () => {
  const schema = kinds.find(({ resource }) => resource.kind === "SandboxClaim")?.schema;
  const own = fields(toOpenAPI(schema!)).map(([path]) => path).filter((path) => path.startsWith(".spec."));
  const inVolumes = ".spec.volumeClaimTemplates[].";
  expect(own.filter((path) => !path.startsWith(inVolumes)).map((path) => path.replace(".spec.", ""))).toEqual([
    ...["warmPoolRef", "warmPoolRef.name"],
    ...["lifecycle", "lifecycle.shutdownTime", "lifecycle.ttlSecondsAfterFinished", "lifecycle.shutdownPolicy"],
    ...["additionalPodMetadata", "additionalPodMetadata.labels", "additionalPodMetadata.annotations"],
    ...["env", "env[]", "env[].name", "env[].value", "env[].containerName"],
    ...["volumeClaimTemplates", "volumeClaimTemplates[]"],
  ]);
});

test("enums are ours only: a value that the next Kubernetes adds gets through", () => {
  expect(said("Sandbox", "enum")).toEqual({
    ".spec.operatingMode": ["Running", "Suspended"],
    ".spec.shutdownPolicy": ["Delete", "Retain"],
    ".status.conditions[].status": ["True", "False", "Unknown"],
  });
  expect(said("SandboxTemplate", "enum")).toEqual({
    ".spec.networkPolicyManagement": ["Managed", "Unmanaged"],
    ".spec.envVarsInjectionPolicy": ["Allowed", "Overrides", "Disallowed"],
    ".spec.volumeClaimTemplatesPolicy": ["Disallowed", "Allowed", "Overrides"],
  });
  expect(said("SandboxWarmPool", "enum")).toMatchObject({ ".spec.updateStrategy.type": ["Recreate", "OnReplenish"] });
  expect(said("SandboxClaim", "enum")).toMatchObject({
    ".spec.lifecycle.shutdownPolicy": ["Delete", "DeleteForeground", "Retain"],
  });
});

test("names of other objects are no longer than names can be", () => {
  expect(said("SandboxClaim", "maxLength")).toMatchObject({ ".spec.warmPoolRef.name": 253 });
  expect(said("SandboxWarmPool", "maxLength")).toMatchObject({ ".spec.sandboxTemplateRef.name": 253 });
});

test("lists of claims, Sandboxes and templates have a bound, which no parser has", () => {
  const own = (kind: string) =>
    Object.fromEntries(Object.entries(said(kind, "maxItems")).filter(([path]) => path.startsWith(".spec.")));
  expect(own("Sandbox")).toEqual({ ".spec.volumeClaimTemplates": 64 });
  expect(own("SandboxTemplate")).toEqual({ ".spec.volumeClaimTemplates": 64 });
  expect(own("SandboxClaim")).toEqual({ ".spec.volumeClaimTemplates": 64, ".spec.env": 1000 });
  const volumeClaimTemplates = Array.from({ length: 65 }, () => ({ spec: {} }));
  expect(aClaim("c", { spec: { volumeClaimTemplates } }).spec.volumeClaimTemplates).toHaveLength(65);
});

test("a name that an older CRD has let through is read anyway", () => {
  const name = "p".repeat(1000);
  expect(aClaim("c", { spec: { warmPoolRef: { name } } }).spec.warmPoolRef.name).toBe(name);
  expect(aPool({ spec: { sandboxTemplateRef: { name } } }).spec.sandboxTemplateRef.name).toBe(name);
});

test("a Pod is embedded whole, its metadata is labels and annotations, its volumes cannot change", () => {
  const { spec, status } = versionOf("Sandbox").schema.openAPIV3Schema.properties;
  const { metadata, spec: podSpec } = spec.properties.podTemplate.properties;
  expect(Object.keys(metadata.properties)).toEqual(["labels", "annotations"]);
  expect(Object.keys(podSpec.properties)).toHaveLength(42);
  expect(podSpec.required).toEqual(["containers"]);
  expect(podSpec.properties.containers["x-kubernetes-list-map-keys"]).toEqual(["name"]);
  expect(spec["x-kubernetes-validations"]).toMatchObject([{ message: "volumeClaimTemplates is immutable" }]);
  expect(JSON.stringify(versionOf("Sandbox"))).not.toContain("x-kubernetes-preserve-unknown-fields");
  expect(status.properties.conditions).not.toHaveProperty("x-kubernetes-list-type");
});

test("Metacontroller's observedGeneration is declared on every composite parent, and a decorator's status is the contract's", () => {
  const statusFields = (kind: string) =>
    Object.keys(versionOf(kind).schema.openAPIV3Schema.properties.status?.properties ?? {});
  expect(statusFields("Sandbox")).toContain("observedGeneration");
  expect(statusFields("SandboxWarmPool")).toContain("observedGeneration");
  expect(statusFields("SandboxClaim")).toEqual(["conditions", "sandbox"]);
  expect(statusFields("SandboxTemplate")).toEqual([]);
});

test("kubectl apply can keep each CRD in its annotation", () => {
  // 256 KiB for all annotations of an object: k8s.io/apimachinery, api/validation/objectmeta.go.
  for (const crd of crds) expect(JSON.stringify(crd).length).toBeLessThan(200 * 1024);
});

test("embedded specs are those of the Kubernetes that the local cluster runs", () => {
  const goMod = readFileSync(new URL("../../dev/cluster/go.mod", import.meta.url), "utf8");
  const hint = "take them anew with dev/crdgen/refresh.ts, then npm run crds";
  expect(readDefinitions().kubernetes, hint).toBe(requiredVersion(goMod, "k8s.io/kubernetes/cmd/kube-apiserver"));
});
