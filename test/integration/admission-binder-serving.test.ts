/** A binder serves claims under its admission policy, on a real API server. @module */
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
} from "../../packages/api/objects/keys.ts";
import { sandboxTemplateSchema } from "../../packages/api/sandboxtemplate.ts";
import { sandboxWarmPoolSchema } from "../../packages/api/sandboxwarmpool.ts";
import { kubeconfigCredentials } from "../../packages/kube/credentials.ts";
import { startApiProxy } from "./apiproxy.ts";
import { run, until } from "./kubectl.ts";
import { condition, type Loose, type Namespace } from "./namespace.ts";
import { aClaim, aPool, aTemplate } from "./pools.ts";
import { startChild } from "./processes.ts";
import { type BareCluster, shared } from "./shared.ts";
import { aProcess, makeOwner, mutateWrites, past } from "./underpolicy.ts";

let cluster: BareCluster;
beforeAll(async () => cluster = await shared("bare"));

const title =
  "a binder serves claims under its policy: by a member, and by a Sandbox of their own; others write, too: %s";
test.for([false, true])(title, async (hasOthers) => {
  const { ns } = await aProcess(cluster, "binder");
  if (hasOthers) await mutateWrites(ns);
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
  // No hook makes a NetworkPolicy here, without which nothing of the template would start.
  await ns.apply(aTemplate("p", { networkPolicyManagement: "Unmanaged" }), aPool("p", 1), aClaim("cold", "p"));
  expect(controllerOf(await ns.until("sandbox", "cold", (it) => it !== undefined))).toEqual(of("SandboxClaim", "cold"));
  const lastTransitionTime = past;
  const unready = { type: "Ready", status: "False", reason: "DependenciesNotReady", message: "", lastTransitionTime };
  await ns.patch("sandbox", "cold", { status: { conditions: [unready] } }, "--subresource=status");
  const bound = await ns.until("sandboxclaim", "cold", ({ status }) => status?.sandbox?.name === "cold");
  expect(bound.metadata.annotations).toHaveProperty([FIRST_OBSERVED_ANNOTATION]);
  await ns.apply(aClaim("poolless", "none"));
  await ns.until("sandboxclaim", "poolless", (claim) => condition(claim, "Ready")?.reason === "WarmPoolNotFound");

  await ns.patch("sandboxwarmpool", "p", { status: { sequence: 1_000_000 } }, "--subresource=status");
  await run(cluster, ["-n", ns.name, "create", "-f", "-"], JSON.stringify(await aMember(ns)));
  const ready = { type: "Ready", status: "True", reason: "DependenciesReady", message: "", lastTransitionTime: past };
  await ns.patch("sandbox", "m", { status: { conditions: [ready], podIPs: ["10.1.0.7"] } }, "--subresource=status");
  const others = hasOthers ? [await addOwner(ns, "m")] : [];
  const warm = aClaim("warm", "p", { additionalPodMetadata: { annotations: { "example.com/a": "b" } } });
  await ns.until("sandbox", "m", (it) => it !== undefined);
  await ns.apply(warm);
  const given = await ns.until("sandbox", "m", (it) => controllerOf(it).kind === "SandboxClaim");
  expect([given.metadata.ownerReferences, given.spec.podTemplate.metadata.annotations])
    .toEqual([[...others, of("SandboxClaim", "warm")], { "example.com/a": "b" }]);
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

/** Adds a ConfigMap to the owners of a Sandbox. Metacontroller's merge would confuse it with the claim of this name. */
async function addOwner(ns: Namespace, sandbox: string): Promise<object> {
  const owner = await makeOwner(ns, "warm");
  const { metadata } = await ns.get("sandbox", sandbox) as Loose;
  await ns.patch("sandbox", sandbox, { metadata: { ownerReferences: [...metadata.ownerReferences, owner] } });
  return owner;
}

/** Makes the member `m` of pool and template `p`, as Metacontroller would. */
async function aMember(ns: Namespace): Promise<object> {
  const pool = sandboxWarmPoolSchema.parse(await ns.get("sandboxwarmpool", "p"));
  const template = sandboxTemplateSchema.parse(await ns.get("sandboxtemplate", "p"));
  const { metadata, ...member } = buildMember(pool, template, "m", { number: 1, first: 1 });
  const labels = { ...metadata.labels, [CONTROLLER_UID_LABEL]: pool.metadata.uid ?? "" };
  return applyCreate({ ...member, metadata: { ...metadata, namespace: ns.name, labels } });
}
