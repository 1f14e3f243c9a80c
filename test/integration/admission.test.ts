/** The admission policies of router, keeper and binder on a real API server: what their accounts may do, and what no more. @module */
import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { buildMember } from "../../hooks/sandboxwarmpool/sandbox.ts";
import { applyCreate, LAST_APPLIED_ANNOTATION } from "../../packages/api/objects/apply.ts";
import {
  CONTROLLER_UID_LABEL,
  DECORATOR_ANNOTATION,
  FIRST_OBSERVED_ANNOTATION,
  HANDED_OVER_AT_ANNOTATION,
  POD_NAME_ANNOTATION,
  SANDBOX_NAME_ANNOTATION,
  UNRESOLVED_ANNOTATION,
  WOKEN_AT_ANNOTATION,
} from "../../packages/api/objects/keys.ts";
import { sandboxTemplateSchema } from "../../packages/api/sandboxtemplate.ts";
import { sandboxWarmPoolSchema } from "../../packages/api/sandboxwarmpool.ts";
import { kubeconfigCredentials } from "../../packages/kube/credentials.ts";
import { startApiProxy } from "./apiproxy.ts";
import { attempt, run, until } from "./kubectl.ts";
import { type Loose, makeNamespace, type Namespace, ON_SIMULATED_NODES, sleeper } from "./namespace.ts";
import { aClaim, aPool, aTemplate } from "./pools.ts";
import { startChild } from "./processes.ts";
import { type BareCluster, shared } from "./shared.ts";

const id = `admission-${randomBytes(3).toString("hex")}`;
let cluster: BareCluster;
beforeAll(async () => cluster = await shared("bare"));

/** Puts the policy of a process into force for an account of this test, which might do everything without it. */
async function aProcess(name: "router" | "keeper" | "binder"): Promise<{ ns: Namespace; as: string[] }> {
  const ns = await makeNamespace(cluster);
  const user = `system:serviceaccount:${ns.name}:${name}`;
  const policy = `${id}-${name}`;
  const file = new URL(`../../deploy/${name}/admission.yaml`, import.meta.url);
  const text = readFileSync(file, "utf8").replace(/system:serviceaccount:[a-z-]+:hookbox-[a-z]+/, user)
    .replaceAll(`hookbox-${name}`, policy);
  await run(cluster, ["create", "clusterrolebinding", policy, "--clusterrole=cluster-admin", `--user=${user}`]);
  await run(cluster, ["apply", "-f", "-"], text);
  onTestFinished(async () => {
    await run(cluster, ["delete", "clusterrolebinding", policy]);
    await run(cluster, ["delete", "-f", "-"], text);
  });
  const kubectl = ["-n", ns.name, `--as=${user}`];
  // A policy takes a moment to be in force.
  await ns.apply(aSandbox("first"));
  const probe = () => {
    const podTemplate = { metadata: { labels: { probe: randomBytes(3).toString("hex") } } };
    const body = JSON.stringify({ spec: { podTemplate } });
    return attempt(cluster, [...kubectl, "patch", "sandbox", "first", "--type=merge", "-p", body]);
  };
  await until(probe, ({ stderr }) => stderr.includes(`The ${name} may change`));
  return { ns, as: kubectl };
}

const aSandbox = (name: string) => sleeper(name, { volumeClaimTemplates: [] }, ON_SIMULATED_NODES);

/** What was applied, in short. */
const APPLIED = { [LAST_APPLIED_ANNOTATION]: '{"spec":{}}' };

const key = "router.agents.x-k8s.io/active-at";
const ROUTER: [what: string, patch: Loose, may: boolean][] = [
  ["switches a Sandbox off", { spec: { operatingMode: "Suspended" } }, true],
  [
    "switches it on, and leaves word",
    { spec: { operatingMode: "Running" }, metadata: { annotations: { [key]: "x" } } },
    true,
  ],
  ["takes its own word back", { metadata: { annotations: { [key]: null } } }, true],
  ["lets it expire", { spec: { shutdownTime: "2030-01-01T00:00:00Z", shutdownPolicy: "Delete" } }, true],
  ["asks for a Service", { spec: { service: true } }, false],
  ["changes the image", { spec: { podTemplate: { spec: { containers: [{ name: "main", image: "evil" }] } } } }, false],
  ["annotates otherwise", { metadata: { annotations: { "agents.x-k8s.io/unresolved": "x" } } }, false],
  ["changes another's annotation", { metadata: { annotations: { mine: "2" } } }, false],
  ["takes another's annotation", { metadata: { annotations: { mine: null } } }, false],
  ["labels", { metadata: { labels: { a: "b" } } }, false],
  ["sets a finalizer", { metadata: { finalizers: ["example.com/stay"] } }, false],
];

test("the router switches Sandboxes on and off, and does nothing else to them", async () => {
  const { ns, as } = await aProcess("router");
  await ns.apply({ ...aSandbox("box"), metadata: { name: "box", annotations: { mine: "1" } } });
  for (const [what, patch, may] of ROUTER) {
    const body = JSON.stringify(patch);
    const { code, stderr } = await attempt(cluster, [...as, "patch", "sandbox", "box", "--type=merge", "-p", body]);
    expect([what, code === 0, stderr]).toEqual([what, may, may ? "" : expect.stringContaining("The router may ")]);
  }
});

test("the keeper tries out what could be created, annotates, sets the label for adoption, and does nothing else", async () => {
  const { ns, as } = await aProcess("keeper");
  const pod = JSON.stringify({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p" },
    spec: { containers: [{ name: "main", image: "busybox" }] },
  });
  const create = (...more: string[]) => attempt(cluster, [...as, "create", "-f", "-", ...more], pod);
  expect((await create("--dry-run=server")).code).toBe(0);
  expect(await create()).toMatchObject({ stderr: expect.stringContaining("The keeper may only try out") });
  expect(await ns.get("pod", "p")).toBeUndefined();
  const pool = aPool("p", 0, "none");
  await ns.apply(
    { ...pool, metadata: { name: "p", annotations: { mine: "1", [WOKEN_AT_ANNOTATION]: "x" } } },
    aClaim("c", "p"),
    aTemplate("t"),
    {
      ...aSandbox("box"),
      metadata: { name: "box", annotations: { mine: "1", ...APPLIED, [POD_NAME_ANNOTATION]: "x" } },
    },
    { ...JSON.parse(pod), metadata: { name: "p", annotations: APPLIED } },
    {
      ...{ apiVersion: "v1", kind: "Service", spec: { ports: [{ port: 80 }] } },
      metadata: { name: "s", labels: { app: "web", mine: "1" }, annotations: APPLIED },
    },
    {
      ...{ apiVersion: "networking.k8s.io/v1", kind: "NetworkPolicy", metadata: { name: "n" } },
      spec: { podSelector: {}, policyTypes: ["Ingress"] },
    },
  );
  const annotate = (annotations: Loose) => ({ metadata: { annotations } });
  const label = (uid: string | null) => ({ metadata: { labels: { "controller-uid": uid } } });
  const word = annotate({ [UNRESOLVED_ANNOTATION]: "x" });
  const woken = annotate({ [WOKEN_AT_ANNOTATION]: "y" });
  const shorter = annotate({ [LAST_APPLIED_ANNOTATION]: "{}" });
  const foreign = annotate({ "api.agents.x-k8s.io/v1beta1-volume-claim-templates": "[]" });
  const box = ["sandbox", "box"], claim = ["sandboxclaim", "c"], aPod = ["pod", "p"], service = ["service", "s"];
  const ours = [box, claim, ["sandboxwarmpool", "p"], ["sandboxtemplate", "t"]];
  const PATCHES: [object: string[], body: Loose, says?: string][] = [
    ...[box, aPod, service].flatMap((it): [string[], Loose][] => [[it, label("u-1")], [it, label(null)]]),
    ...ours.map((it): [string[], Loose] => [it, woken]),
    ...[box, claim, ["sandboxtemplate", "t"]].map((it): [string[], Loose] => [it, word]),
    [box, annotate({ [UNRESOLVED_ANNOTATION]: null })],
    [box, annotate({ [DECORATOR_ANNOTATION]: "sandboxclaim" })],
    [box, annotate({ [POD_NAME_ANNOTATION]: null })],
    [claim, annotate({ [FIRST_OBSERVED_ANNOTATION]: "x" })],
    ...[box, aPod, service].map((it): [string[], Loose] => [it, shorter]),
    [box, annotate({ [LAST_APPLIED_ANNOTATION]: null })],
    [["networkpolicy", "n"], annotate({ [DECORATOR_ANNOTATION]: "sandboxtemplate" })],
    ...[{ a: "b" }, { app: "sandbox-router" }, { mine: null }].map((labels): [string[], Loose, string] => [
      service,
      { metadata: { labels } },
      "The keeper may change the label controller-uid, and no others",
    ]),
    [["sandboxwarmpool", "p"], label("u-1"), "The keeper may change the label"],
    ...[...ours, aPod, service, ["networkpolicy", "n"]].map((it): [string[], Loose, string] => [
      it,
      foreign,
      "The keeper may change annotations that are its own",
    ]),
    [box, annotate({ mine: null }), "The keeper may change annotations that are its own"],
    [["sandboxwarmpool", "p"], word, "The keeper may change annotations that are its own"],
    [box, annotate({ [DECORATOR_ANNOTATION]: "sandboxtemplate" }), "The keeper may shorten"],
    [box, annotate({ [POD_NAME_ANNOTATION]: "another" }), "The keeper may shorten"],
    [box, annotate(APPLIED), "The keeper may shorten"],
    [
      service,
      annotate({ [LAST_APPLIED_ANNOTATION]: '{"metadata":{"labels":{"app":"web"}}}' }),
      "The keeper may shorten",
    ],
    [box, { spec: { operatingMode: "Suspended" } }, "The keeper may change labels and annotations"],
    [["sandboxwarmpool", "p"], { spec: { replicas: 100 } }, "The keeper may change labels and annotations"],
    [box, { metadata: { finalizers: ["example.com/stay"] } }, "The keeper may change labels and annotations"],
  ];
  for (const [object, body, says] of PATCHES) {
    const patched = await attempt(cluster, [...as, "patch", ...object, "--type=merge", "-p", JSON.stringify(body)]);
    const what = `${object.join(" ")} ${JSON.stringify(body)}`;
    expect([what, patched.code === 0, patched.stderr])
      .toEqual([what, says === undefined, says === undefined ? "" : expect.stringContaining(says)]);
  }
});

const expired = (reason: string, observedGeneration?: number) => ({
  conditions: [{
    ...{ type: "Ready", status: "False", reason, message: "", lastTransitionTime: "2026-01-01T00:00:00Z" },
    ...(observedGeneration === undefined ? {} : { observedGeneration }),
  }],
});
const past = "2026-01-01T00:00:00Z";
const DELETIONS: [name: string, spec: Loose, status: Loose, may: boolean][] = [
  ["expired", { shutdownTime: past, shutdownPolicy: "Delete" }, expired("Expired"), true],
  ["expired-now", { shutdownTime: past, shutdownPolicy: "Delete" }, expired("Expired", 1), true],
  ["foreground", { shutdownTime: past, shutdownPolicy: "DeleteForeground" }, expired("Expired"), true],
  ["finished", { ttlSecondsAfterFinished: 1, shutdownPolicy: "Delete" }, expired("Expired"), true],
  ["retained", { shutdownTime: past, shutdownPolicy: "Retain" }, expired("Expired"), false],
  ["put-off", { shutdownTime: past, shutdownPolicy: "Delete" }, expired("Expired", 0), false],
  ["silent", { shutdownTime: past, shutdownPolicy: "Delete" }, undefined, false],
  ["broken", { shutdownTime: past, shutdownPolicy: "Delete" }, expired("InvalidConfiguration"), false],
];

test("the keeper deletes what says that it has expired, and nothing else", async () => {
  const { ns, as } = await aProcess("keeper");
  await ns.apply(aPool("p", 0, "none"));
  for (const [name, lifecycle, status, may] of DELETIONS) {
    const { ttlSecondsAfterFinished, ...spec } = lifecycle;
    const isSandboxes = ttlSecondsAfterFinished === undefined && spec.shutdownPolicy !== "DeleteForeground";
    const box = aSandbox(name);
    await ns.apply(
      aClaim(name, "p", { lifecycle }),
      ...(isSandboxes ? [{ ...box, spec: { ...box.spec, ...spec } }] : []),
    );
    for (const [kind, what] of [["sandboxclaim", "Claim"], ...(isSandboxes ? [["sandbox", "Sandbox"]] : [])] as const) {
      const text = JSON.stringify(status ?? null).replace("Expired", `${what}Expired`);
      if (status) await ns.patch(kind, name, { status: JSON.parse(text) }, "--subresource=status");
      const { code, stderr } = await attempt(cluster, [...as, "delete", kind, name, "--wait=false"]);
      expect([kind, name, code === 0, stderr])
        .toEqual([kind, name, may, may ? "" : expect.stringContaining("The keeper may delete what says")]);
    }
  }
  const { stderr } = await attempt(cluster, [...as, "delete", "sandbox", "first"]);
  expect(stderr).toContain("The keeper may delete what says");
});

test("the binder makes Sandboxes for pools and claims, hands members over, and does nothing else", async () => {
  const { ns, as } = await aProcess("binder");
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
    const spec = object[1] === "c" ? { warmPoolRef: { name: "q" } } : { replicas: 100 };
    for (const body of [{ spec }, { metadata: { labels: { a: "b" } } }, { metadata: ofClaim }]) {
      expect(await patch(object, body)).toMatchObject(refused("change annotations of claims and pools"));
    }
  }
});

test("a binder serves claims under its policy: by a member, and by a Sandbox of their own", async () => {
  const { ns } = await aProcess("binder");
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
