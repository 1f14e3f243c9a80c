/** The Sandboxes that a pool makes, whole, and the blueprint that they are made from. @module */
import { expect, test } from "vitest";
import { sandboxSchema } from "../../../packages/api/sandbox.ts";
import { appliedOf } from "../../../hooks/sandboxwarmpool/applied.ts";
import { securedPodSpec } from "../../../hooks/sandboxwarmpool/blueprint.ts";
import { buildMember } from "../../../hooks/sandboxwarmpool/sandbox.ts";
import { aMember, aPool } from "../../pools.ts";
import { aTemplate } from "../../templates.ts";

const PLACE = { number: 1, first: 1 };
const withoutUid = (sandbox: ReturnType<typeof aMember>) => {
  const { "controller-uid": _, ...labels } = sandbox.metadata.labels ?? {};
  return sandboxSchema.parse({ ...sandbox, metadata: { ...sandbox.metadata, labels } });
};

test("buildMember() is what the other tests' members were made from", () => {
  const member = withoutUid(aMember(1));
  const { "controller-uid": _, ...labels } = appliedOf(member, aPool()).metadata.labels ?? {};
  const seen = appliedOf(member, aPool());
  expect(buildMember(aPool(), aTemplate(), "warm-1", PLACE)).toEqual({
    ...seen,
    metadata: { ...seen.metadata, labels },
  });
});

test("a member has its pool's owner and the claims' decorator in what is applied, and neither mode nor shutdown", () => {
  const { metadata, spec } = buildMember(aPool(), aTemplate(), "warm-1", PLACE);
  expect(metadata.ownerReferences).toMatchObject([{ kind: "SandboxWarmPool", uid: "uid-warm", controller: true }]);
  expect(metadata.annotations).toMatchObject({ "metacontroller.k8s.io/decorator-controller": "sandboxclaim" });
  expect(Object.keys(spec ?? {})).toEqual(["podTemplate"]);
});

test("what a pool makes belongs to its shard from birth, and to none if the pool belongs to none", () => {
  const shard = { "agents.x-k8s.io/shard": "b" };
  const pool = aPool({ metadata: { labels: { ...shard, app: "x" } } });
  const { metadata } = buildMember(pool, aTemplate(), "warm-1", PLACE);
  expect(metadata.labels).toMatchObject(shard);
  expect(metadata.labels).not.toHaveProperty("app");
  expect(buildMember(aPool(), aTemplate(), "warm-1", PLACE).metadata.labels).not.toHaveProperty(
    "agents.x-k8s.io/shard",
  );
});

test("a member takes over volumes, Service and whatever else the template says of the Pod", () => {
  const volumeClaimTemplates = [{ metadata: { name: "v" }, spec: {} }];
  const template = aTemplate({
    spec: {
      volumeClaimTemplates,
      service: true,
      podTemplate: {
        metadata: { labels: { app: "x" }, annotations: { "cluster-autoscaler.kubernetes.io/safe-to-evict": "false" } },
        spec: { containers: [], runtimeClassName: "gvisor" },
      },
    },
  });
  const { spec } = buildMember(aPool(), template, "warm-1", PLACE);
  expect(spec).toMatchObject({ volumeClaimTemplates, service: true });
  expect(spec?.podTemplate.spec).toMatchObject({ runtimeClassName: "gvisor" });
  expect(spec?.podTemplate.metadata?.annotations).toEqual({
    "cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
  });
  expect(spec?.podTemplate.metadata?.labels).toMatchObject({
    app: "x",
    "agents.x-k8s.io/warm-pool-sandbox": "81fa6638",
  });
});

const RESOLVERS = { dnsPolicy: "None", dnsConfig: { nameservers: ["8.8.8.8", "1.1.1.1"] } };
const containers = [{ name: "main" }];
const secured = [
  ["a template that says nothing", {}, {}, { automountServiceAccountToken: false, ...RESOLVERS }],
  ["a token that is asked for", { automountServiceAccountToken: true }, {}, {
    automountServiceAccountToken: true,
    ...RESOLVERS,
  }],
  ["a DNS policy of its own", { dnsPolicy: "ClusterFirst" }, {}, {
    automountServiceAccountToken: false,
    dnsPolicy: "ClusterFirst",
  }],
  ["an empty DNS policy", { dnsPolicy: "" }, {}, { automountServiceAccountToken: false, ...RESOLVERS }],
  ["no NetworkPolicy", {}, { networkPolicyManagement: "Unmanaged" }, { automountServiceAccountToken: false }],
  ["a NetworkPolicy of its own, even an empty one", {}, { networkPolicy: {} }, { automountServiceAccountToken: false }],
  ["DNS options", { dnsConfig: { options: [{ name: "ndots" }] } }, {}, {
    automountServiceAccountToken: false,
    dnsPolicy: "None",
    dnsConfig: { nameservers: ["8.8.8.8", "1.1.1.1"] },
  }],
] as const;
test.for(secured)("securedPodSpec() with %s", ([, podSpec, spec, want]) => {
  const template = aTemplate({ spec: { ...spec, podTemplate: { spec: { containers, ...podSpec } } } });
  expect(securedPodSpec(template)).toEqual({ containers, ...want });
});
