/** The binder's admission policy on a real API server: what its account may do, and what it may not. @module */
import { beforeAll, expect, test } from "vitest";
import {
  ASSIGNED_AT_ANNOTATION,
  CLAIM_UID_LABEL,
  DRAINING_LABEL,
  LATE_BINDING_ANNOTATION,
  LAUNCH_TYPE_LABEL,
  LOSSES_ALLOWED_ANNOTATION,
  SANDBOX_NAME_ANNOTATION,
  SHARD_LABEL,
  UNRESOLVED_ANNOTATION,
  WARM_POOL_LABEL,
  WOKEN_AT_ANNOTATION,
} from "../../packages/api/objects/keys.ts";
import { RETURNED } from "../../packages/binder/returns.ts";
import { attempt, run } from "./kubectl.ts";
import type { Loose } from "./namespace.ts";
import { aClaim, aPool } from "./pools.ts";
import { type BareCluster, shared } from "./shared.ts";
import { aProcess, aSandbox, past } from "./underpolicy.ts";

let cluster: BareCluster;
beforeAll(async () => cluster = await shared("bare"));

test("the binder makes Sandboxes for pools and claims, hands members over, and does nothing else", async () => {
  const { ns, as } = await aProcess(cluster, "binder");
  await ns.apply(
    { ...aPool("p", 1), metadata: { name: "p", annotations: { [LOSSES_ALLOWED_ANNOTATION]: "1" } } },
    { ...aClaim("c", "p"), metadata: { name: "c", annotations: { [LOSSES_ALLOWED_ANNOTATION]: "1" } } },
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
  const ofPool = { ownerReferences: owner("SandboxWarmPool", pool), labels: { [WARM_POOL_LABEL]: "x" } };
  const ofClaim = { ownerReferences: owner("SandboxClaim", claim), labels: { [CLAIM_UID_LABEL]: claim.uid } };
  const taken = { ...ofClaim, labels: { ...ofClaim.labels, [WARM_POOL_LABEL]: null } };

  expect(await create(make("free", {}))).toMatchObject(refused("create Sandboxes of claims and pools"));
  const others = { ownerReferences: [{ ...owner("Pod", claim)[0], apiVersion: "v1" }] };
  expect(await create(make("others", others))).toMatchObject(refused("create Sandboxes of claims and pools"));
  const held = { ...ofPool, finalizers: ["example.com/stay"] };
  expect(await create(make("held", held))).toMatchObject(refused("create Sandboxes of claims and pools"));
  const unnamed = make("another", ofClaim);
  expect(await create(unnamed), "a claim's is named like it").toMatchObject(refused("create Sandboxes of claims"));
  const ends = { ...make("ends", ofPool), spec: { ...aSandbox("x").spec, shutdownTime: past } };
  expect(await create(ends)).toMatchObject(refused("create Sandboxes that run"));
  const asks = { ...ofPool, annotations: { "router.agents.x-k8s.io/idle-delete-seconds": "1" } };
  expect(await create(make("asks", asks))).toMatchObject(refused("create Sandboxes with reserved labels"));
  const draining = { ...ofPool, labels: { ...ofPool.labels, [DRAINING_LABEL]: "x" } };
  expect(await create(make("labelled", draining))).toMatchObject(refused("create Sandboxes with reserved labels"));
  for (const [name, metadata] of [["member", ofPool], ["c", ofClaim]] as const) {
    expect(await create(make(name, metadata))).toMatchObject({ code: 0, stderr: "" });
  }
  const pods = { podTemplate: { metadata: { labels: { a: "b" } } } };
  const image = { podTemplate: { spec: { containers: [{ name: "main", image: "evil" }] } } };
  for (const name of ["first", "c"]) {
    const patched = await patch(["sandbox", name], { metadata: taken, spec: pods });
    expect(patched, name).toMatchObject(refused("change Sandboxes of pools by giving them"));
  }
  expect(await patch(["sandbox", "member"], { spec: pods })).toMatchObject(
    refused("change Sandboxes of pools by giving"),
  );
  for (const spec of [image, { operatingMode: "Suspended" }, { service: true }, { shutdownTime: past }]) {
    const changed = await patch(["sandbox", "member"], { metadata: taken, spec });
    expect(changed, JSON.stringify(spec)).toMatchObject(refused("change the metadata of a Sandbox's Pod"));
  }
  for (
    const metadata of [{ labels: { ...taken.labels, [DRAINING_LABEL]: "x" } }, {
      annotations: { [UNRESOLVED_ANNOTATION]: "y" },
    }]
  ) {
    const says = `change reserved ${"labels" in metadata ? "labels" : "annotations"} that are its own`;
    expect(await patch(["sandbox", "member"], { metadata: { ...taken, ...metadata } })).toMatchObject(refused(says));
  }
  expect(await create(make("back", ofPool))).toMatchObject({ code: 0 });
  const marked = (more: Loose) => ({ metadata: { labels: { [CLAIM_UID_LABEL]: RETURNED }, ...more } });
  for (const more of [{ annotations: { [ASSIGNED_AT_ANNOTATION]: "x" } }, { labels: { [CLAIM_UID_LABEL]: "other" } }]) {
    expect(await patch(["sandbox", "back"], marked(more))).toMatchObject(
      refused("change Sandboxes of pools by giving"),
    );
  }
  expect(await patch(["sandbox", "back"], marked({}))).toMatchObject({ code: 0, stderr: "" });
  const given = { metadata: { ...taken, annotations: { [ASSIGNED_AT_ANNOTATION]: "x" } }, spec: pods };
  expect(await patch(["sandbox", "member"], given)).toMatchObject({ code: 0, stderr: "" });
  const again = { metadata: taken, spec: { podTemplate: { metadata: { labels: null } } } };
  expect(await patch(["sandbox", "member"], again), "once").toMatchObject(
    refused("change Sandboxes of pools by giving them"),
  );

  const late = { [LATE_BINDING_ANNOTATION]: "Required" };
  const warm = { ...ofPool, labels: { ...ofPool.labels, [LAUNCH_TYPE_LABEL]: "warm" } };
  for (const name of ["late", "early", "free-late"]) expect(await create(make(name, warm))).toMatchObject({ code: 0 });
  const bound = (annotations: object) => ({ metadata: { ...taken, annotations }, spec: pods });
  expect(await patch(["sandbox", "late"], bound(late))).toMatchObject({ code: 0, stderr: "" });
  expect(await patch(["sandbox", "early"], bound({}))).toMatchObject({ code: 0, stderr: "" });
  await ns.patch("sandbox", "free-late", { metadata: { annotations: late } });
  const deleted = (name: string) => attempt(cluster, [...as, "delete", "--wait=false", "sandbox", name]);
  for (const name of ["first", "c", "member", "early", "free-late"]) {
    expect(await deleted(name), name).toMatchObject(refused("create and update"));
  }
  expect(await deleted("late")).toMatchObject({ code: 0, stderr: "" });

  for (const object of [["sandboxclaim", "c"], ["sandboxwarmpool", "p"]]) {
    const key = object[1] === "c" ? SANDBOX_NAME_ANNOTATION : WOKEN_AT_ANNOTATION;
    expect(await patch(object, { metadata: { annotations: { [key]: "x" } } })).toMatchObject({ code: 0 });
    for (const annotations of [{ [UNRESOLVED_ANNOTATION]: "b" }, { [LOSSES_ALLOWED_ANNOTATION]: null }]) {
      expect(await patch(object, { metadata: { annotations } })).toMatchObject(
        refused("change reserved annotations that are its own"),
      );
    }
    const [own, lifecycle] = [{ shutdownPolicy: "Retain" }, { shutdownPolicy: "Delete" }];
    const specs = [{ lifecycle: { shutdownTime: past } }, { lifecycle, env: [] }, { lifecycle }, { lifecycle: own }];
    for (const [index, spec] of (object[1] === "c" ? specs : []).entries()) {
      const want = index === 2 ? { code: 0 } : refused("change annotations of claims and pools");
      expect(await patch(object, { spec }), JSON.stringify(spec)).toMatchObject(want);
    }
    const spec = object[1] === "c" ? { warmPoolRef: { name: "q" } } : { replicas: 100 };
    for (
      const body of [{ spec }, { metadata: { finalizers: ["a.b/c"] } }, {
        metadata: { ownerReferences: ofClaim.ownerReferences },
      }]
    ) {
      expect(await patch(object, body)).toMatchObject(refused("change annotations of claims and pools"));
    }
    expect(await patch(object, { metadata: { labels: { [SHARD_LABEL]: "b" } } })).toMatchObject(
      refused("change reserved labels"),
    );
    expect(await attempt(cluster, [...as, "delete", ...object])).toMatchObject(refused("create and update"));
  }
});

const READY = { type: "Ready", status: "True", reason: "DependenciesReady", message: "", lastTransitionTime: past };
const foreign = { ...READY, type: "Foreign" };
const missing = { ...READY, status: "False", reason: "WarmPoolNotFound" };
const STATUSES: [what: string, before: Loose, status: Loose, says?: string][] = [
  ["the first", undefined, { conditions: [READY], sandbox: { name: "a", podIPs: ["10.0.0.1"] } }],
  ["why it is not served", undefined, { conditions: [missing] }],
  ["served at last", { conditions: [missing] }, { conditions: [READY], sandbox: { name: "a" } }],
  ["of the Sandbox that it has", { sandbox: { name: "a" } }, { conditions: [READY], sandbox: { name: "a" } }],
  ["with another's condition", { sandbox: { name: "a" }, conditions: [foreign] }, {
    conditions: [foreign, READY],
    sandbox: { name: "a" },
  }],
  ["of another Sandbox than it has", { sandbox: { name: "a" } }, { sandbox: { name: "b" } }, "not replace the Sandbox"],
  ["Ready without a Sandbox", undefined, { conditions: [READY] }, "not report that a claim without"],
  ["its Sandbox is gone", { sandbox: { name: "a" } }, { conditions: [missing], sandbox: null }],
  ["with another's condition", undefined, { conditions: [foreign], sandbox: { name: "a" } }, "write the conditions"],
  [
    "without another's condition",
    { sandbox: { name: "a" }, conditions: [foreign] },
    { conditions: [READY] },
    "write the conditions",
  ],
];

test("the binder writes the status of a claim, but never names another Sandbox in the place of one", async () => {
  const { ns, as } = await aProcess(cluster, "binder");
  await ns.apply(aPool("p", 0));
  for (const [index, [what, before, status, says]] of STATUSES.entries()) {
    const name = `c-${index}`;
    await ns.apply(aClaim(name, "p"));
    if (before) await ns.patch("sandboxclaim", name, { status: before }, "--subresource=status");
    const body = JSON.stringify({ status });
    const patch = ["patch", "sandboxclaim", name, "--subresource=status", "--type=merge", "-p", body];
    const { code, stderr } = await attempt(cluster, [...as, ...patch]);
    expect([what, code === 0, stderr])
      .toEqual([what, says === undefined, says === undefined ? "" : expect.stringContaining(`The binder may ${says}`)]);
  }
  const pool = [
    "patch",
    "sandboxwarmpool",
    "p",
    "--subresource=status",
    "--type=merge",
    "-p",
    '{"status":{"replicas":9}}',
  ];
  expect((await attempt(cluster, [...as, ...pool])).stderr).toContain("The binder may create and update");
});

test("in system namespaces the binder does nothing", async () => {
  const { as } = await aProcess(cluster, "binder");
  const metadata = { name: "c", namespace: "kube-system" };
  const claim = JSON.stringify({ ...aClaim("c", "p"), metadata });
  await run(cluster, ["apply", "-f", "-"], claim);
  const annotations = { [SANDBOX_NAME_ANNOTATION]: "x" };
  const patch = ["patch", "sandboxclaim", "c", "--type=merge", "-p", JSON.stringify({ metadata: { annotations } })];
  const { stderr } = await attempt(cluster, [...as.with(1, "kube-system"), ...patch]);
  await run(cluster, ["delete", "-f", "-"], claim);
  expect(stderr).toContain("The binder may not act in system namespaces");
});
