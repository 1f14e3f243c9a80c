/** The binder's admission policy on a real API server: what its account may do, and that a binder does no more. @module */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { buildMember } from "../../hooks/sandboxwarmpool/sandbox.ts";
import { applyCreate } from "../../packages/api/objects/apply.ts";
import {
  CONTROLLER_UID_LABEL,
  FIRST_OBSERVED_ANNOTATION,
  HANDED_OVER_AT_ANNOTATION,
  SANDBOX_NAME_ANNOTATION,
  UNRESOLVED_ANNOTATION,
  WOKEN_AT_ANNOTATION,
} from "../../packages/api/objects/keys.ts";
import { sandboxTemplateSchema } from "../../packages/api/sandboxtemplate.ts";
import { sandboxWarmPoolSchema } from "../../packages/api/sandboxwarmpool.ts";
import { kubeconfigCredentials } from "../../packages/kube/credentials.ts";
import { startApiProxy } from "./apiproxy.ts";
import { attempt, run, until } from "./kubectl.ts";
import type { Loose, Namespace } from "./namespace.ts";
import { aClaim, aPool, aTemplate } from "./pools.ts";
import { startChild } from "./processes.ts";
import { type BareCluster, shared } from "./shared.ts";
import { aProcess, aSandbox, past } from "./underpolicy.ts";

let cluster: BareCluster;
beforeAll(async () => cluster = await shared("bare"));

test("the binder makes Sandboxes for pools and claims, hands members over, and does nothing else", async () => {
  const { ns, as } = await aProcess(cluster, "binder");
  await ns.apply(
    { ...aPool("p", 1), metadata: { name: "p", annotations: { mine: "1" } } },
    { ...aClaim("c", "p"), metadata: { name: "c", annotations: { mine: "1" } } },
  );
  const { metadata: pool } = await ns.get("sandboxwarmpool", "p");
  const { metadata: claim } = await ns.get("sandboxclaim", "c");
  const owner = (kind: string, { name, uid }: Loose) => [{
    ...{ apiVersion: "extensions.agents.x-k8s.io/v1beta1", kind, name, uid, controller: true },
  }];
  const make = (name: string, metadata: Loose) => ({ ...aSandbox(name), metadata: { name, ...metadata } });
  const create = (object: object) => attempt(cluster, [...as, "create", "-f", "-"], JSON.stringify(object));
  const patch = (object: string[], body: Loose) =>
    attempt(cluster, [...as, "patch", ...object, "--type=merge", "-p", JSON.stringify(body)]);
  const refused = (says: string) => ({ code: 1, stderr: expect.stringContaining(`The binder may ${says}`) });
  const ofPool = { ownerReferences: owner("SandboxWarmPool", pool) };
  const ofClaim = { ownerReferences: owner("SandboxClaim", claim) };

  expect(await create(make("free", {}))).toMatchObject(refused("create Sandboxes of claims and pools"));
  const others = { ownerReferences: [{ ...owner("Pod", claim)[0], apiVersion: "v1" }] };
  expect(await create(make("others", others))).toMatchObject(refused("create Sandboxes of claims and pools"));
  const held = { ...ofPool, finalizers: ["example.com/stay"] };
  expect(await create(make("held", held))).toMatchObject(refused("create Sandboxes of claims and pools"));
  for (const [name, metadata] of [["member", ofPool], ["cold", ofClaim]] as const) {
    expect(await create(make(name, metadata))).toMatchObject({ code: 0, stderr: "" });
  }
  const pods = { podTemplate: { metadata: { labels: { a: "b" } } } };
  const image = { podTemplate: { spec: { containers: [{ name: "main", image: "evil" }] } } };
  for (const name of ["first", "cold"]) {
    const taken = await patch(["sandbox", name], { metadata: ofClaim, spec: pods });
    expect(taken, name).toMatchObject(refused("change Sandboxes of pools by giving them"));
  }
  expect(await patch(["sandbox", "member"], { spec: pods })).toMatchObject(
    refused("change Sandboxes of pools by giving"),
  );
  for (const spec of [image, { operatingMode: "Suspended" }, { service: true }, { shutdownTime: past }]) {
    const changed = await patch(["sandbox", "member"], { metadata: ofClaim, spec });
    expect(changed, JSON.stringify(spec)).toMatchObject(refused("change the metadata of a Sandbox's Pod"));
  }
  const given = { metadata: { ...ofClaim, labels: { x: "y" }, annotations: { x: "y" } }, spec: pods };
  expect(await patch(["sandbox", "member"], given)).toMatchObject({ code: 0, stderr: "" });

  for (const object of [["sandboxclaim", "c"], ["sandboxwarmpool", "p"]]) {
    const key = object[1] === "c" ? UNRESOLVED_ANNOTATION : WOKEN_AT_ANNOTATION;
    expect(await patch(object, { metadata: { annotations: { [key]: "x" } } })).toMatchObject({ code: 0 });
    for (const annotations of [{ a: "b" }, { mine: null }]) {
      expect(await patch(object, { metadata: { annotations } })).toMatchObject(
        refused("change annotations that are its own"),
      );
    }
    const lifecycle = { shutdownPolicy: "Delete", ttlSecondsAfterFinished: 10 };
    if (object[1] === "c") {
      const timed = { ...lifecycle, shutdownTime: past };
      for (const spec of [{ lifecycle: timed }, { lifecycle, warmPoolRef: { name: "q" } }, { lifecycle, env: [] }]) {
        expect(await patch(object, { spec })).toMatchObject(refused("change annotations of claims and pools"));
      }
      expect(await patch(object, { spec: { lifecycle } })).toMatchObject({ code: 0 });
      const other = await patch(object, { spec: { lifecycle: { ...lifecycle, ttlSecondsAfterFinished: 1 } } });
      expect(other, "only of one without").toMatchObject(refused("change annotations of claims and pools"));
    }
    const spec = object[1] === "c" ? { warmPoolRef: { name: "q" } } : { replicas: 100 };
    for (const body of [{ spec }, { metadata: { labels: { a: "b" } } }, { metadata: ofClaim }]) {
      expect(await patch(object, body)).toMatchObject(refused("change annotations of claims and pools"));
    }
  }
});

test("a binder serves claims under its policy: by a member, and by a Sandbox of their own", async () => {
  const { ns } = await aProcess(cluster, "binder");
  const logs = mkdtempSync(join(tmpdir(), "hookbox-admission-"));
  await run(cluster, ["-n", ns.name, "create", "serviceaccount", "binder"]);
  const token = (await run(cluster, ["-n", ns.name, "create", "token", "binder"])).trim();
  const proxy = await startApiProxy(await kubeconfigCredentials(cluster.kubeconfig), ns.name);
  const kubeconfig = join(logs, "kubeconfig");
  writeFileSync(
    kubeconfig,
    JSON.stringify({
      clusters: [{ name: "c", cluster: { server: proxy.url } }],
      users: [{ name: "u", user: { token } }],
      contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
      "current-context": "c",
    }),
  );
  const args = ["packages/binder/main.ts", "--kubeconfig", kubeconfig, "--namespace", ns.name, "--no-leader-election"];
  const binder = startChild("binder", args, logs);
  onTestFinished(async () => {
    await binder.stop();
    proxy.stop();
    rmSync(logs, { recursive: true, force: true });
  });
  const controllerOf = ({ metadata }: Loose) => metadata.ownerReferences?.find(({ controller }: Loose) => controller);
  const of = (kind: string, name: string) => expect.objectContaining({ kind, name });
  await ns.apply(aTemplate("p"), aPool("p", 1), aClaim("cold", "p"));
  expect(controllerOf(await ns.until("sandbox", "cold", (it) => it !== undefined))).toEqual(of("SandboxClaim", "cold"));
  await ns.until("sandboxclaim", "cold", ({ metadata }) => metadata.annotations?.[FIRST_OBSERVED_ANNOTATION]);

  await ns.patch("sandboxwarmpool", "p", { status: { sequence: 1_000_000 } }, "--subresource=status");
  await run(cluster, ["-n", ns.name, "create", "-f", "-"], JSON.stringify(await aMember(ns)));
  const ready = { type: "Ready", status: "True", reason: "DependenciesReady", message: "", lastTransitionTime: past };
  await ns.patch("sandbox", "m", { status: { conditions: [ready], podIPs: ["10.1.0.7"] } }, "--subresource=status");
  const warm = aClaim("warm", "p", { additionalPodMetadata: { annotations: { "example.com/a": "b" } } });
  await ns.until("sandbox", "m", (it) => it !== undefined);
  await ns.apply(warm);
  const given = await ns.until("sandbox", "m", (it) => controllerOf(it).kind === "SandboxClaim");
  expect([controllerOf(given), given.spec.podTemplate.metadata.annotations])
    .toEqual([of("SandboxClaim", "warm"), { "example.com/a": "b" }]);
  await ns.until(
    "sandboxclaim",
    "warm",
    ({ metadata, status }) => status?.sandbox?.name === "m" && metadata.annotations?.[SANDBOX_NAME_ANNOTATION] === "m",
  );
  const made = () => ns.list("sandbox");
  await until(made, (list) => list.some((it) => controllerOf(it)?.kind === "SandboxWarmPool"));
  await ns.until("sandboxwarmpool", "p", ({ metadata }) => metadata.annotations?.[HANDED_OVER_AT_ANNOTATION]);
  expect(readFileSync(join(logs, "binder.log"), "utf8")).not.toMatch(/The binder may |"level":"(warn|error)"/);
});

/** Makes the member `m` of pool and template `p`, as Metacontroller would. */
async function aMember(ns: Namespace): Promise<object> {
  const pool = sandboxWarmPoolSchema.parse(await ns.get("sandboxwarmpool", "p"));
  const template = sandboxTemplateSchema.parse(await ns.get("sandboxtemplate", "p"));
  const { metadata, ...member } = buildMember(pool, template, "m", { number: 1, first: 1 });
  const labels = { ...metadata.labels, [CONTROLLER_UID_LABEL]: pool.metadata.uid ?? "" };
  return applyCreate({ ...member, metadata: { ...metadata, namespace: ns.name, labels } });
}
