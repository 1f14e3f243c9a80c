/** Accounts that are held by the admission policy of a process, and by nothing else. @module */
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { onTestFinished } from "vitest";
import { attempt, run, until } from "./kubectl.ts";
import { makeNamespace, type Namespace, ON_SIMULATED_NODES, sleeper } from "./namespace.ts";
import type { BareCluster } from "./shared.ts";

const id = `admission-${randomBytes(3).toString("hex")}`;

/** Puts the policy of a process into force for an account of this test, which might do everything without it. */
export async function aProcess(
  cluster: BareCluster,
  name: "router" | "keeper" | "binder",
): Promise<{ ns: Namespace; as: string[] }> {
  const ns = await makeNamespace(cluster);
  const user = `system:serviceaccount:${ns.name}:${name}`;
  const policy = `${id}-${name}`;
  const file = new URL(`../../deploy/${name}/admission.yaml`, import.meta.url);
  const text = readFileSync(file, "utf8").replaceAll(/system:serviceaccount:[a-z-]+:hookbox-[a-z]+/g, user)
    .replaceAll(`ame: hookbox-${name}`, `ame: ${policy}`)
    // Where its Lease is.
    .replaceAll('request.namespace == "hookbox-system"', `request.namespace == "${ns.name}"`);
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

export const aSandbox = (name: string) => sleeper(name, { volumeClaimTemplates: [] }, ON_SIMULATED_NODES);

export const past = "2026-01-01T00:00:00Z";
