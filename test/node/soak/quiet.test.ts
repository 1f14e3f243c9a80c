/** Steadiness: no writes when nothing changes, and nothing extra or missing after many changes. @module */
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, inject, test } from "vitest";
import { createAll, patchAll } from "../../integration/bulk.ts";
import { until } from "../../integration/kubectl.ts";
import {
  condition,
  type Loose,
  makeNamespace,
  type Namespace,
  ON_SIMULATED_NODES,
  sleeper,
  VOLUME,
} from "../../integration/namespace.ts";
import { aClaim, aPool, aSimulatedTemplate, untilFull, untilReady } from "../../integration/pools.ts";
import { suite } from "../../integration/suite.ts";

const KINDS = ["sandboxes", "sandboxclaims", "sandboxwarmpools", "pods", "services", "persistentvolumeclaims"];
const CLAIMS = inject("isSoak") ? 300 : 20;

/** Counts the writes in a namespace that the API server has answered, those that change nothing too, by verb and kind. */
function writes(ns: Namespace): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const line of readFileSync(suite.writesLog, "utf8").split("\n")) {
    if (!line.includes(`"namespace":"${ns.name}"`)) continue;
    const { verb, objectRef: { resource, subresource = "" }, userAgent } = JSON.parse(line);
    // What a node says of its Pods, and takes away once they have ended.
    if (/^(kubelet|kwok)/.test(userAgent)) continue;
    const key = `${verb} ${resource}/${subresource}`;
    counts[key] = (counts[key] ?? 0) + 1;
  }
  return counts;
}

const versions = async (ns: Namespace) =>
  Object.fromEntries(
    (await Promise.all(KINDS.map((kind) => ns.list(kind)))).flat().map((object: Loose) => [
      `${object.kind}/${object.metadata.name}`,
      object.metadata.resourceVersion,
    ]),
  );

test(`30 seconds without one write once everything is Ready, ${CLAIMS} claims on a pool among it`, async () => {
  const ns = await makeNamespace();
  const far = new Date(Date.now() + 3600_000).toISOString();
  await ns.apply(
    sleeper("plain", {}, ON_SIMULATED_NODES),
    sleeper("full", { ...VOLUME, service: true, shutdownTime: far }),
    sleeper("off", { ...VOLUME, operatingMode: "Suspended" }, ON_SIMULATED_NODES),
    sleeper("tolerant", {}, { ...ON_SIMULATED_NODES, tolerations: [{ operator: "Exists" }] }),
  );
  for (const name of ["plain", "full", "tolerant"]) await ns.untilReason(name, "DependenciesReady");
  await ns.until("sandbox", "off", (s) => condition(s, "Suspended")?.status === "True");
  const claims = Array.from({ length: CLAIMS }, (_, index) => `c-${index}`);
  await ns.apply(aSimulatedTemplate("pool"), aPool("pool", 10));
  await createAll(ns, claims.map((name) => aClaim(name, "pool")));
  for (const name of claims) await untilReady(ns, name);
  await untilFull(ns, "pool");
  // The last writes that belong to getting there: a Pod's metadata after admission changed its spec, a volume's binding.
  await until(async () => {
    const before = writes(ns);
    await sleep(3000);
    return [before, writes(ns)] as const;
  }, ([before, after]) => JSON.stringify(before) === JSON.stringify(after));

  const [objects, count] = [await versions(ns), writes(ns)];
  // Binder and pool both make members: on a busy machine there may be one too many for a moment.
  expect(count["create pods/"], "writes are counted").toBeGreaterThanOrEqual(3 + CLAIMS + 10);
  await sleep(30_000);
  expect(await versions(ns)).toEqual(objects);
  expect(writes(ns)).toEqual(count);
});

const [COUNT, ROUNDS] = inject("isSoak") ? [200, 3] : [50, 1];

test(`${COUNT} Sandboxes suspended and resumed, rounds: ${ROUNDS}; nothing extra, nothing missing`, async () => {
  const ns = await makeNamespace();
  const names = Array.from({ length: COUNT }, (_, index) => `s-${String(index).padStart(3, "0")}`);
  await createAll(ns, names.map((name) => sleeper(name, { service: true }, ON_SIMULATED_NODES)));
  const inMode = (reason: string) => async () =>
    (await ns.list("sandboxes")).filter((sandbox) =>
      condition(sandbox, "Ready")?.reason === reason &&
      condition(sandbox, "Ready").observedGeneration === sandbox.metadata.generation
    ).length;
  await until(inMode("DependenciesReady"), (ready) => ready === COUNT);
  const services = await uids(ns, "services");

  for (let round = 0; round < ROUNDS; round++) {
    await patchAll(ns, names, { spec: { operatingMode: "Suspended" } });
    await until(async () => (await ns.list("pods")).length, (pods) => pods === 0);
    await patchAll(ns, names, { spec: { operatingMode: "Running" } });
    await until(inMode("DependenciesReady"), (ready) => ready === COUNT);
  }
  expect((await ns.list("pods")).map(({ metadata }) => metadata.name).sort()).toEqual(names);
  expect(await uids(ns, "services")).toEqual(services);
});

const uids = async (ns: Namespace, kind: string) =>
  (await ns.list(kind)).map(({ metadata }) => `${metadata.name} ${metadata.uid}`).sort();
