/** What the binder's admission policies let it change for a claim that asks for resources, on a real API server. @module */
import { beforeAll, expect, test } from "vitest";
import {
  CLAIM_UID_LABEL,
  LAUNCH_TYPE_LABEL,
  RESIZED_ANNOTATION,
  WARM_POOL_LABEL,
} from "../../packages/api/objects/keys.ts";
import { attempt } from "./kubectl.ts";
import type { Loose } from "./namespace.ts";
import { aClaim, aPool } from "./pools.ts";
import { type BareCluster, shared } from "./shared.ts";
import { aProcess, aSandbox } from "./underpolicy.ts";

let cluster: BareCluster;
beforeAll(async () => cluster = await shared("bare"));

const resources = { limits: { cpu: "1", memory: "1Gi", "example.com/gpu": "1" }, requests: { cpu: "500m" } };
const main = { name: "main", image: "a", resources };
const side = { name: "side", image: "a", resources: { limits: { cpu: "1" } } };
const more = {
  ...main,
  resources: { limits: { ...resources.limits, cpu: "2" }, requests: { cpu: "1", memory: "1Gi" } },
};
const withLimits = (limits: object) => ({ ...more, resources: { ...more.resources, limits } });

test("the binder changes CPU and memory of a member's first container when it binds it, and nothing else", async () => {
  const { ns, as } = await aProcess(cluster, "binder");
  await ns.apply(aPool("p", 1), aClaim("c", "p"));
  const [{ metadata: pool }, { metadata: claim }] = [
    await ns.get("sandboxwarmpool", "p"),
    await ns.get("sandboxclaim", "c"),
  ];
  const owner = (kind: string, { name, uid }: Loose) => [{
    ...{ apiVersion: "extensions.agents.x-k8s.io/v1beta1", kind, name, uid, controller: true },
  }];
  const labels = { [WARM_POOL_LABEL]: "x", [LAUNCH_TYPE_LABEL]: "warm" };
  const create = async (name: string) => {
    const spec = { ...aSandbox(name).spec, podTemplate: { spec: { containers: [main, side], hostNetwork: false } } };
    const metadata = { name, labels, ownerReferences: owner("SandboxWarmPool", pool) };
    const made = await attempt(
      cluster,
      [...as, "create", "-f", "-"],
      JSON.stringify({ ...aSandbox(name), metadata, spec }),
    );
    expect(made).toMatchObject({ code: 0 });
  };
  await create("member");
  const taken = (annotations: object) => ({
    ownerReferences: owner("SandboxClaim", claim),
    labels: { [CLAIM_UID_LABEL]: claim.uid, [WARM_POOL_LABEL]: null },
    annotations,
  });
  const marked = taken({ [RESIZED_ANNOTATION]: "a b" });
  const bind = (metadata: object, spec: object) => {
    const body = JSON.stringify({ metadata, spec: { podTemplate: { spec } } });
    return attempt(cluster, [...as, "patch", "sandbox", "member", "--type=merge", "-p", body]);
  };
  const refused = (says: string) => ({ code: 1, stderr: expect.stringContaining(`The binder may ${says}`) });
  const spec = "change the metadata of a Sandbox's Pod and the resources of its first container";
  const other = "change CPU and memory of a container, and no other resources";
  expect(await bind(taken({}), { containers: [more, side] }), "unmarked").toMatchObject(refused(spec));
  const cases: [what: string, podSpec: object, says: string][] = [
    ["image", { containers: [{ ...more, image: "evil" }, side] }, spec],
    ["command", { containers: [{ ...more, command: ["evil"] }, side] }, spec],
    ["name", { containers: [{ ...more, name: "evil" }, side] }, spec],
    ["second container", { containers: [main, { ...side, resources: more.resources }] }, spec],
    ["order", { containers: [side, more] }, spec],
    ["one less", { containers: [more] }, spec],
    ["one more", { containers: [more, side, { name: "evil", image: "evil" }] }, spec],
    ["another field", { containers: [more, side], hostNetwork: true }, spec],
    ["a new field", { containers: [more, side], hostPID: true }, spec],
    ["a field less", { containers: [more, side], hostNetwork: null }, spec],
    ["restarts", {
      containers: [{ ...more, resizePolicy: [{ resourceName: "cpu", restartPolicy: "RestartContainer" }] }, side],
    }, spec],
    ["more GPUs", { containers: [withLimits({ ...more.resources.limits, "example.com/gpu": "2" }), side] }, other],
    [
      "another resource",
      { containers: [withLimits({ ...more.resources.limits, "example.com/fpga": "2" }), side] },
      other,
    ],
    ["no GPU", { containers: [withLimits({ cpu: "2", memory: "1Gi" }), side] }, other],
    ["no memory limit", { containers: [withLimits({ cpu: "2", "example.com/gpu": "1" }), side] }, other],
    ["claims", { containers: [{ ...more, resources: { ...more.resources, claims: [{ name: "d" }] } }, side] }, other],
  ];
  for (const [what, podSpec, says] of cases) expect(await bind(marked, podSpec), what).toMatchObject(refused(says));
  expect(await bind(marked, { containers: [more, side] })).toMatchObject({ code: 0, stderr: "" });
  await create("plain");
  const discard = (name: string) => attempt(cluster, [...as, "delete", "--wait=false", "sandbox", name]);
  expect(await discard("plain")).toMatchObject(refused("create and update"));
  expect(await discard("member")).toMatchObject({ code: 0, stderr: "" });
});

test("the binder resizes one container of a Sandbox's Pod, and does nothing else to Pods", async () => {
  const { ns, as } = await aProcess(cluster, "binder");
  const { metadata: { name, uid } } = await ns.get("sandbox", "first") as Loose;
  const ofSandbox = [{ apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox", name, uid, controller: true }];
  const small = { limits: { cpu: "1", memory: "64Mi" }, requests: { cpu: "100m", memory: "32Mi" } };
  const pod = (name: string, ownerReferences: object[]) => {
    const containers = ["main", "side"].map((one) => ({ name: one, image: "a", resources: small }));
    const nodeSelector = { "no.such/node": "" };
    return { apiVersion: "v1", kind: "Pod", metadata: { name, ownerReferences }, spec: { containers, nodeSelector } };
  };
  await ns.apply(pod("free", []), pod("sandboxed", ofSandbox));
  const resize = (name: string, containers: object[], more: object = {}) => {
    const body = JSON.stringify({ spec: { containers, ...more } });
    return attempt(cluster, [...as, "patch", "pod", name, "--subresource=resize", "-p", body]);
  };
  const refused = (says: string) => ({ code: 1, stderr: expect.stringContaining(`The binder may ${says}`) });
  const limits = { resources: { limits: { cpu: "2" } } };
  expect(await resize("free", [{ name: "main", ...limits }])).toMatchObject(refused("resize Pods of Sandboxes"));
  const both = [{ name: "main", ...limits }, { name: "side", ...limits }];
  expect(await resize("sandboxed", both)).toMatchObject(refused("change CPU and memory of one container"));
  const restarts = { name: "main", resizePolicy: [{ resourceName: "cpu", restartPolicy: "RestartContainer" }] };
  // The API server's own rule.
  expect((await resize("sandboxed", [restarts])).stderr).toContain("only cpu and memory resources are mutable");
  expect(await resize("sandboxed", [{ name: "main", ...limits }])).toMatchObject({ code: 0 });
  const label = ["patch", "pod", "sandboxed", "-p", '{"metadata":{"labels":{"a":"b"}}}'];
  expect(await attempt(cluster, [...as, ...label])).toMatchObject(refused("resize Pods, and nothing else"));
  expect(await attempt(cluster, [...as, "delete", "pod", "sandboxed"])).toMatchObject(
    refused("resize Pods, and nothing"),
  );
  const created = await attempt(cluster, [...as, "create", "-f", "-"], JSON.stringify(pod("new", ofSandbox)));
  expect(created).toMatchObject(refused("resize Pods, and nothing else"));
  const [main] = (await ns.get("pod", "sandboxed") as Loose).spec.containers;
  expect(main.resources).toEqual({ limits: { cpu: "2", memory: "64Mi" }, requests: small.requests });
});
