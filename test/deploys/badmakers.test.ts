/** The guard refuses what a bad deploy would create. The good deploy that follows creates what is missing. @module */
import { expect, test } from "vitest";
import { claim, pool, sandbox } from "../testing/objects.ts";
import { faulty } from "./faulty.ts";
import { BAD_MAKERS } from "./badmakers.ts";
import { createTestCluster } from "../../packages/testing/mod.ts";
import type { HookCalls } from "../../packages/webhook/hook.ts";

const KINDS = ["Pod", "Service", "PersistentVolumeClaim", "Sandbox", "NetworkPolicy"];
const volumeClaimTemplates = [{ metadata: { name: "home" }, spec: { accessModes: ["ReadWriteOnce"] } }];
const runtime = {
  runtimeClassName: "gvisor",
  containers: [{ name: "main", image: "busybox", ports: [{ containerPort: 80 }] }],
};

/** Starts a cluster with hooks that can be replaced, in which a claim is served. */
async function aCluster(members: number) {
  let current = faulty((wish) => wish);
  const served = (name: string): HookCalls => {
    const { sync, ...calls } = current[name]!();
    return { ...calls, sync: (...call) => current[name]!().sync(...call) ?? sync(...call) };
  };
  const hooks = Object.fromEntries(Object.keys(current).map((name) => [name, () => served(name)]));
  const cluster = await createTestCluster({ hooks });
  await cluster.apply(...pool(members));
  await cluster.clock.advance(10_000);
  await cluster.apply(claim("served"));
  await cluster.clock.advance(30_000);
  return {
    cluster,
    deploy: (hooks: Record<string, () => HookCalls>) => void (current = hooks),
    [Symbol.asyncDispose]: () => cluster.stop(),
  };
}

test.for(Object.entries(BAD_MAKERS))("a hook makes no %s", async ([, { kind, fault }]) => {
  // A member that is there already would be refused first.
  await using world = await aCluster(kind === "Sandbox" ? 0 : 2);
  const { cluster } = world;
  const names = () => KINDS.flatMap((kind) => cluster.objects(kind).map(({ metadata: { name } }) => `${kind}/${name}`));
  const before = new Set(names());
  world.deploy(faulty(fault));
  const asked = sandbox("asked", { service: true, volumeClaimTemplates }, runtime);
  if (kind === "Sandbox") await cluster.patch("SandboxWarmPool", "shells", { spec: { replicas: 2 } });
  else await cluster.apply(asked);
  await cluster.clock.advance(30_000);
  const isOfKind = (name: string) => name.startsWith(`${kind}/`) && !before.has(name);
  expect(names().filter(isOfKind)).toEqual([]);
  expect(cluster.faults().join()).toMatch(/not what (?:its|their) parent asks? for/);

  world.deploy(faulty((wish) => wish));
  await cluster.clock.advance(400_000);
  expect(names().filter(isOfKind)).toHaveLength(kind === "Sandbox" ? 2 : 1);
  expect([...before].filter((name) => !names().includes(name)), "and nothing goes").toEqual([]);
});
