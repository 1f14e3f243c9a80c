/** Steadiness: no writes when nothing changes, and nothing extra or missing after many changes. @module */
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { createAll, patchAll } from "../integration/bulk.ts";
import { run, until } from "../integration/kubectl.ts";
import {
  condition,
  type Loose,
  makeNamespace,
  type Namespace,
  ON_SIMULATED_NODES,
  sleeper,
} from "../integration/namespace.ts";
import { suite } from "../integration/suite.ts";

const KINDS = ["sandboxes", "pods", "services", "persistentvolumeclaims"];
const VOLUME = {
  volumeClaimTemplates: [{
    metadata: { name: "data" },
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "10Mi" } } },
  }],
};

/** Counts the writes that the API server has answered, by our controllers' kinds; the kubelet's are Pod status patches. */
async function writes(): Promise<Record<string, number>> {
  const text = await run(suite, ["get", "--raw", "/metrics"]);
  const counts: Record<string, number> = {};
  for (const line of text.split("\n")) {
    const match = /^apiserver_request_total\{(.*)\} (\S+)$/.exec(line);
    if (!match) continue;
    const label = (name: string) => new RegExp(`${name}="([^"]*)"`).exec(match[1] ?? "")?.[1] ?? "";
    const key = `${label("verb")} ${label("resource")}/${label("subresource")}`;
    const ours = KINDS.includes(label("resource")) && ["POST", "PUT", "PATCH", "DELETE"].includes(label("verb"));
    if (ours && key !== "PATCH pods/status") counts[key] = (counts[key] ?? 0) + Number(match[2]);
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

test("30 seconds without one write once everything is Ready", async () => {
  const ns = await makeNamespace();
  // Namespaces of earlier tests are still being emptied, which is writes too.
  await until(() => ns.kubectl("get", "namespaces", "-o", "name"), (names) => names.match(/\/t-/g)?.length === 1, 120);
  const far = new Date(Date.now() + 3600_000).toISOString();
  await ns.apply(
    sleeper("plain", {}, ON_SIMULATED_NODES),
    sleeper("full", { ...VOLUME, service: true, shutdownTime: far }),
    sleeper("off", { ...VOLUME, operatingMode: "Suspended" }, ON_SIMULATED_NODES),
    sleeper("tolerant", {}, { ...ON_SIMULATED_NODES, tolerations: [{ operator: "Exists" }] }),
  );
  for (const name of ["plain", "full", "tolerant"]) await ns.untilReason(name, "DependenciesReady");
  await ns.until("sandbox", "off", (s) => condition(s, "Suspended")?.status === "True");
  // The last writes that belong to getting there: a Pod's metadata after admission changed its spec, a volume's binding.
  await until(async () => {
    const before = await writes();
    await sleep(3000);
    return [before, await writes()] as const;
  }, ([before, after]) => JSON.stringify(before) === JSON.stringify(after));

  const [objects, count] = [await versions(ns), await writes()];
  await sleep(30_000);
  expect(await versions(ns)).toEqual(objects);
  expect(await writes()).toEqual(count);
});

test("200 Sandboxes suspended and resumed three times: nothing extra, nothing missing", async () => {
  const ns = await makeNamespace();
  const count = 200;
  const names = Array.from({ length: count }, (_, index) => `s-${String(index).padStart(3, "0")}`);
  await createAll(ns, names.map((name) => sleeper(name, { service: true }, ON_SIMULATED_NODES)));
  const inMode = (reason: string) => async () =>
    (await ns.list("sandboxes")).filter((sandbox) =>
      condition(sandbox, "Ready")?.reason === reason &&
      condition(sandbox, "Ready").observedGeneration === sandbox.metadata.generation
    ).length;
  await until(inMode("DependenciesReady"), (ready) => ready === count, 120);
  const services = await uids(ns, "services");

  for (let round = 0; round < 3; round++) {
    await patchAll(ns, names, { spec: { operatingMode: "Suspended" } });
    await until(async () => (await ns.list("pods")).length, (pods) => pods === 0, 120);
    await patchAll(ns, names, { spec: { operatingMode: "Running" } });
    await until(inMode("DependenciesReady"), (ready) => ready === count, 120);
  }
  expect((await ns.list("pods")).map(({ metadata }) => metadata.name).sort()).toEqual(names);
  expect(await uids(ns, "services")).toEqual(services);
}, 600_000);

const uids = async (ns: Namespace, kind: string) =>
  (await ns.list(kind)).map(({ metadata }) => `${metadata.name} ${metadata.uid}`).sort();
