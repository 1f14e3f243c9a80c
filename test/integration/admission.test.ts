/** The keeper's admission policy on a real API server: what its account may do, and what it may not. @module */
import { beforeAll, expect, test } from "vitest";
import { LAST_APPLIED_ANNOTATION } from "../../packages/api/objects/apply.ts";
import {
  DECORATOR_ANNOTATION,
  FIRST_OBSERVED_ANNOTATION,
  LOSSES_ALLOWED_ANNOTATION,
  POD_NAME_ANNOTATION,
  REFUSED_WRITE_ANNOTATION,
  TEMPLATE_REF_HASH_LABEL,
  UNRESOLVED_ANNOTATION,
  WOKEN_AT_ANNOTATION,
} from "../../packages/api/objects/keys.ts";
import { attempt, run } from "./kubectl.ts";
import type { Loose } from "./namespace.ts";
import { aClaim, aPool, aTemplate } from "./pools.ts";
import { type BareCluster, shared } from "./shared.ts";
import { aProcess, aSandbox, past } from "./underpolicy.ts";

let cluster: BareCluster;
beforeAll(async () => cluster = await shared("bare"));

/** What was applied, in short. */
const APPLIED = { [LAST_APPLIED_ANNOTATION]: '{"spec":{}}' };

test("the keeper tries out what could be created or changed, annotates, sets the label for adoption, and does nothing else", async () => {
  const { ns, as } = await aProcess(cluster, "keeper");
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
      metadata: {
        name: "box",
        annotations: { [LOSSES_ALLOWED_ANNOTATION]: "1", ...APPLIED, [POD_NAME_ANNOTATION]: "x" },
      },
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
  const { apiVersion, kind, metadata } = await ns.get("sandboxclaim", "c");
  const owner = { apiVersion, kind, name: "c", uid: metadata.uid, controller: true };
  await ns.apply({ ...aSandbox("claims"), metadata: { name: "claims", ownerReferences: [owner] } });
  const annotate = (annotations: Loose) => ({ metadata: { annotations } });
  const label = (uid: string | null) => ({ metadata: { labels: { "controller-uid": uid } } });
  const word = annotate({ [UNRESOLVED_ANNOTATION]: "x" });
  const woken = annotate({ [WOKEN_AT_ANNOTATION]: "y" });
  const refused = annotate({ [REFUSED_WRITE_ANNOTATION]: "x" });
  const shorter = annotate({ [LAST_APPLIED_ANNOTATION]: "{}" });
  const foreign = annotate({ "api.agents.x-k8s.io/v1beta1-volume-claim-templates": "[]" });
  const box = ["sandbox", "box"], claim = ["sandboxclaim", "c"], aPod = ["pod", "p"], service = ["service", "s"];
  const claims = ["sandbox", "claims"];
  const ours = [box, ["sandboxwarmpool", "p"], ["sandboxtemplate", "t"]];
  const PATCHES: [object: string[], body: Loose, says?: string][] = [
    ...[box, aPod, service].flatMap((it): [string[], Loose][] => [[it, label("u-1")], [it, label(null)]]),
    ...ours.flatMap((it): [string[], Loose][] => [[it, woken], [it, word]]),
    [box, annotate({ [UNRESOLVED_ANNOTATION]: null })],
    [box, annotate({ [DECORATOR_ANNOTATION]: "sandboxclaim" })],
    [box, annotate({ [POD_NAME_ANNOTATION]: null })],
    [claims, refused],
    [claims, annotate({ [REFUSED_WRITE_ANNOTATION]: null })],
    [box, refused, "The keeper may report refused writes only on Sandboxes that a claim controls"],
    ...[woken, word, refused, annotate({ [FIRST_OBSERVED_ANNOTATION]: "x" })].map((it): [string[], Loose, string] => [
      claim,
      it,
      "The keeper may change annotations that are its own",
    ]),
    ...[box, aPod, service].map((it): [string[], Loose] => [it, shorter]),
    [box, annotate({ [LAST_APPLIED_ANNOTATION]: null })],
    [["networkpolicy", "n"], annotate({ [DECORATOR_ANNOTATION]: "sandboxtemplate" })],
    ...[{ a: "b" }, { app: "sandbox-router" }, { mine: null }].map((labels): [string[], Loose, string] => [
      service,
      { metadata: { labels } },
      "The keeper may change the label controller-uid, and no others",
    ]),
    [["sandboxwarmpool", "p"], label("u-1"), "The keeper may change the label"],
    ...[...ours, claim, aPod, service, ["networkpolicy", "n"]].map((it): [string[], Loose, string] => [
      it,
      foreign,
      "The keeper may change annotations that are its own",
    ]),
    [box, annotate({ [LOSSES_ALLOWED_ANNOTATION]: null }), "The keeper may change annotations that are its own"],
    ...[aPod, service, ["networkpolicy", "n"]].map((it): [string[], Loose, string] => [
      it,
      annotate({ mine: "2" }),
      "The keeper may change annotations that are its own",
    ]),
    [["sandboxwarmpool", "p"], annotate({ [FIRST_OBSERVED_ANNOTATION]: "x" }), "The keeper may change annotations"],
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
  const change = JSON.stringify({ metadata: { labels: { mine: null, "agents.x-k8s.io/draining": "surplus" } } });
  for (const object of [box, aPod, service]) {
    await run(cluster, [...as, "patch", ...object, "--type=merge", "-p", change, "--dry-run=server"]);
    const { metadata: { labels = {} } } = await ns.get(...object as [string, string]) as Loose;
    expect(labels["agents.x-k8s.io/draining"]).toBeUndefined();
  }
});

test("the keeper changes whose the NetworkPolicy of a template is, and deletes it; its rules it may only try out", async () => {
  const { ns, as } = await aProcess(cluster, "keeper");
  const selector = { matchLabels: { [TEMPLATE_REF_HASH_LABEL]: "0fceff97" } };
  const policy = (name: string, metadata: Loose = {}, podSelector: Loose = selector): Loose => ({
    ...{ apiVersion: "networking.k8s.io/v1", kind: "NetworkPolicy" },
    metadata: { name, annotations: { [DECORATOR_ANNOTATION]: "sandboxtemplate" }, ...metadata },
    spec: { podSelector, policyTypes: ["Ingress"] },
  });
  // Of the real one: what has no owner that exists the garbage collector deletes.
  const uid = await run(cluster, ["get", "namespace", ns.name, "-o", "jsonpath={.metadata.uid}"]);
  const owner = (kind: string, name: string, apiVersion = "v1") => ({ apiVersion, kind, name, uid });
  const template = { ...owner("SandboxTemplate", "t", "extensions.agents.x-k8s.io/v1beta1"), controller: true };
  const owned = (...ownerReferences: Loose[]) => ({ metadata: { ownerReferences } });
  await ns.apply(
    policy("t-network-policy"),
    policy("plain"),
    policy("other-network-policy", { annotations: {} }),
    policy("all-network-policy", {}, {}),
  );
  const open = { spec: { ingress: [{}] } };
  const attempts: [what: string, args: string[], says?: string][] = [
    ["owners", patching(owned(template, owner("Namespace", ns.name)))],
    ["another namespace", patching(owned(owner("Namespace", "default"))), "The keeper may add or remove only"],
    ["another owner", patching(owned(owner("ConfigMap", "c"))), "The keeper may add or remove only"],
    ["rules, tried out", patching(open, "--dry-run=server")],
    ["rules", patching(open), "The keeper may change labels and annotations"],
    ["label", patching({ metadata: { labels: { a: "b" } } }), "The keeper may change the label"],
    ...["plain", "other-network-policy", "all-network-policy"].map((name): [string, string[], string] => [
      name,
      ["delete", "networkpolicy", name],
      "The keeper may delete only",
    ]),
    ["delete", ["delete", "networkpolicy", "t-network-policy"]],
  ];
  for (const [what, args, says] of attempts) {
    const { code, stderr } = await attempt(cluster, [...as, ...args]);
    expect([what, code === 0, stderr]).toEqual([what, says === undefined, says ? expect.stringContaining(says) : ""]);
  }
});

function patching(body: Loose, ...more: string[]): string[] {
  return ["patch", "networkpolicy", "t-network-policy", "--type=merge", "-p", JSON.stringify(body), ...more];
}

const expired = (reason: string, observedGeneration?: number) => ({
  conditions: [{
    ...{ type: "Ready", status: "False", reason, message: "", lastTransitionTime: "2026-01-01T00:00:00Z" },
    ...(observedGeneration === undefined ? {} : { observedGeneration }),
  }],
});
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
  const { ns, as } = await aProcess(cluster, "keeper");
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
        .toEqual([kind, name, may, may ? "" : expect.stringContaining("The keeper may delete only")]);
    }
  }
  const { stderr } = await attempt(cluster, [...as, "delete", "sandbox", "first"]);
  expect(stderr).toContain("The keeper may delete only");
});

test("in system namespaces the keeper changes nothing", async () => {
  const { as } = await aProcess(cluster, "keeper");
  const box = { ...aSandbox("system"), metadata: { name: "system", namespace: "kube-system" } };
  await run(cluster, ["apply", "-f", "-"], JSON.stringify(box));
  const body = JSON.stringify({ metadata: { annotations: { [UNRESOLVED_ANNOTATION]: "x" } } });
  const patch = ["patch", "sandbox", "system", "--type=merge", "-p", body];
  const { stderr } = await attempt(cluster, [...as.with(1, "kube-system"), ...patch]);
  await run(cluster, ["delete", "-f", "-"], JSON.stringify(box));
  expect(stderr).toContain("The keeper may not change objects of system namespaces");
});
