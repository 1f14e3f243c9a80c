/** A Sandbox made for one claim: whole and the claim's from birth, so that Metacontroller finds nothing to do. @module */
import { expect, test } from "vitest";
import { sandboxSchema } from "../../packages/api/sandbox.ts";
import { sandboxClaimSchema } from "../../packages/api/sandboxclaim.ts";
import { coldSandbox } from "../../packages/binder/boundsandbox.ts";
import { syncSandboxClaim } from "../../hooks/sandboxclaim/sync.ts";
import { lastApplied } from "../../packages/api/objects/apply.ts";
import { decoratorRequestSchema } from "../../packages/webhook/metacontroller.ts";
import { aClaimRequest, CONFIG, putOf } from "../claimbuilders.ts";
import { aClaim, aPool } from "../pools.ts";
import { NOW } from "../sandboxes.ts";
import { aTemplate } from "../templates.ts";

const cold = (claim = aClaim("c"), template = aTemplate(), pool = aPool()) =>
  coldSandbox(claim, { pool, template }, NOW);
const full = aClaim("c", {
  metadata: {
    labels: { "agents.x-k8s.io/created-by": "python-client" },
    annotations: { "opentelemetry.io/trace-context": "{}" },
  },
  spec: {
    env: [{ name: "A", value: "1" }],
    volumeClaimTemplates: [{ metadata: { name: "mine" }, spec: {} }],
    additionalPodMetadata: { annotations: { note: "x" } },
  },
});

test("it is the claim's from birth: name, owner, labels, when it was given", () => {
  const { metadata } = cold();
  expect(metadata).toMatchObject({
    name: "c",
    labels: {
      "agents.x-k8s.io/launch-type": "cold",
      "agents.x-k8s.io/claim-uid": "uid-c",
      "agents.x-k8s.io/sandbox-template-ref-hash": "0fceff97",
    },
    ownerReferences: [{ kind: "SandboxClaim", name: "c", uid: "uid-c", controller: true, blockOwnerDeletion: true }],
  });
  expect(metadata.labels).not.toHaveProperty("agents.x-k8s.io/created-by");
  expect(metadata.annotations).toMatchObject({
    "agents.x-k8s.io/assigned-at": NOW.toISOString(),
    "agents.x-k8s.io/pod-name": "c",
    "agents.x-k8s.io/sandbox-template-ref": "python",
    "agents.x-k8s.io/claim-pod-metadata": "{}",
    "metacontroller.k8s.io/decorator-controller": "sandboxclaim",
  });
});

test("it has the claim's variables, volumes, metadata, client and trace from birth", () => {
  const template = aTemplate({ spec: { volumeClaimTemplates: [{ metadata: { name: "v" }, spec: {} }] } });
  const { metadata, spec } = cold(full, template);
  expect(metadata).toMatchObject({
    labels: { "agents.x-k8s.io/created-by": "python-client" },
    annotations: {
      "opentelemetry.io/trace-context": "{}",
      "agents.x-k8s.io/claim-pod-metadata": '{"annotations":{"note":"x"}}',
    },
  });
  expect(spec?.volumeClaimTemplates?.map((volume) => volume.metadata?.name)).toEqual(["v", "mine"]);
  expect(spec?.podTemplate.spec.containers[0]?.env).toEqual([{ name: "A", value: "1" }]);
  expect(spec?.podTemplate.metadata).toEqual({
    labels: {
      "agents.x-k8s.io/claim-uid": "uid-c",
      "agents.x-k8s.io/created-by": "python-client",
      "agents.x-k8s.io/sandbox-template-ref-hash": "0fceff97",
    },
    annotations: { note: "x" },
  });
});

test("what a claim says in fields that its CRD does not have says nothing of its Sandbox", () => {
  const podSpec = { serviceAccountName: "other", containers: [{ name: "main", image: "other", command: ["other"] }] };
  const unknown = { ...podSpec, image: "other", podTemplate: { spec: podSpec }, operatingMode: "Suspended" };
  expect(cold(aClaim("c", { spec: unknown })).spec).toEqual(cold().spec);
});

test("a claim's variable is its value, and not that of a Secret which it names", () => {
  const env = [{ name: "A", value: "1", valueFrom: { secretKeyRef: { name: "s", key: "k" } } }];
  expect(cold(aClaim("c", { spec: { env } })).spec?.podTemplate.spec.containers[0]?.env).toEqual([
    { name: "A", value: "1" },
  ]);
});

test("without volumes of the claim it has the template's as they are, an empty list too", () => {
  const empty = aTemplate({ spec: { volumeClaimTemplates: [] } });
  expect(cold(aClaim("c"), empty).spec).toMatchObject({ volumeClaimTemplates: [] });
  expect(cold().spec).not.toHaveProperty("volumeClaimTemplates");
});

test("it takes over the Service, and the closed doors of every Pod that is made from a template", () => {
  const { spec } = cold(aClaim("c"), aTemplate({ spec: { service: true } }));
  expect(spec).toMatchObject({ service: true });
  expect(spec?.podTemplate.spec).toMatchObject({ automountServiceAccountToken: false, dnsPolicy: "None" });
});

test("it belongs to its pool's shard, and to none if the pool belongs to none", () => {
  const shard = { "agents.x-k8s.io/shard": "b" };
  const pool = aPool({ metadata: { labels: { ...shard, app: "x" } } });
  const { metadata } = cold(aClaim("c"), aTemplate(), pool);
  expect(metadata.labels).toMatchObject(shard);
  expect(metadata.labels).not.toHaveProperty("app");
  expect(cold().metadata.labels).not.toHaveProperty("agents.x-k8s.io/shard");
});

test.for([aClaim("c"), full])("Metacontroller has nothing to do after the claim's hook", (claim) => {
  const made = cold(claim);
  const system = { namespace: "team-a", uid: "uid-made", resourceVersion: "1" };
  const sandbox = sandboxSchema.parse({ ...made, metadata: { ...made.metadata, ...system } });
  const { metadata } = made.spec?.podTemplate ?? {};
  expect(lastApplied(sandbox)).toMatchObject({ metadata: { name: "c" } });
  expect(lastApplied(sandbox)?.["spec"]).toEqual({ podTemplate: { metadata } });
  for (const status of [undefined, { sandbox: { name: "c" } }]) {
    const observed = { ...claim, ...(status && { status }) };
    const request = decoratorRequestSchema(sandboxClaimSchema).parse(aClaimRequest(observed, [sandbox]));
    const [desired] = syncSandboxClaim(request, NOW, CONFIG).attachments;
    expect(desired && putOf(sandbox, desired)).toBeUndefined();
    expect(desired).toBeDefined();
  }
});
