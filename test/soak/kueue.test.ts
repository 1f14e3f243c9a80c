/** Pods with a queue, with Kueue's own manager and its webhooks, on a cluster of its own. @module */
import { Buffer } from "node:buffer";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parseAllDocuments, stringify } from "yaml";
import { findPrograms } from "../../dev/cluster/binaries.ts";
import { makeCertificate } from "../../dev/cluster/certificates.ts";
import { freePorts } from "../../dev/cluster/ports.ts";
import { endGently, type ProcessRecord, startProcess, untilAnswering } from "../../dev/cluster/processes.ts";
import { KUEUE } from "../../dev/cluster/programs.ts";
import { type Breakable, startBreakable } from "../integration/breakable.ts";
import { applyKueueCRDs, kueueFolder } from "../integration/kueue.ts";
import { type Kubectl, run } from "../integration/kubectl.ts";
import { condition, type Loose } from "../integration/namespace.ts";
import { aClaim, aPool, untilFull, untilReady } from "../integration/pools.ts";
import { aQueuedTemplate, KUEUE_API, queued, testQueues } from "../integration/queues.ts";

/** What the manager serves for the Pods of queues. It serves as much for each of the other kinds that it can queue. */
const GROUPS = ["", "kueue.x-k8s.io"];

/** Without certificates of its own making, the manager wants one for metrics at a fixed path. Only the manager sees it. */
const IN_OWN_ETC = `mount -t tmpfs none /etc && mkdir -p /etc/kueue/metrics &&
  cp -r "$1" /etc/kueue/metrics/certs && shift && exec "$@"`;

const progress = (line: string) => void process.stdout.write(`kueue: ${line}\n`);
const folder = mkdtempSync(join(tmpdir(), "hookbox-kueue-"));
let world: Breakable;
let manager: ProcessRecord;
beforeAll(async () => {
  const { kueue = "" } = await findPrograms(KUEUE, { progress });
  world = await startBreakable();
  manager = await startManager(kueue, world.kubectl);
}, 1_800_000);
afterAll(async () => {
  if (manager) await endGently(manager);
  await world?.down();
  rmSync(folder, { recursive: true });
});

testQueues(() => world.kubectl);

test("a claim with a higher priority preempts a member of a pool, whose next Pod waits", async () => {
  const ns = await queued(world.kubectl, "1", { preemption: { withinClusterQueue: "LowerPriority" } });
  const priority = { apiVersion: KUEUE_API, kind: "WorkloadPriorityClass", metadata: { name: "in-use" }, value: 1000 };
  await run(world.kubectl, ["apply", "-f", "-"], JSON.stringify(priority));
  await ns.apply(aPool("agents", 2));
  await untilFull(ns, "agents");
  const before = await ns.list("pods");
  await ns.apply(aQueuedTemplate("urgent", { "kueue.x-k8s.io/priority-class": "in-use" }), aPool("urgent", 0));
  await ns.apply(aClaim("job", "urgent"));
  await untilReady(ns, "job");
  const pool = await ns.until("sandboxwarmpool", "agents", (object) => {
    return condition(object, "Progressing")?.reason === "SchedulingGated";
  });
  expect(pool.status.readyReplicas).toBe(1);
  const uids = (pods: Loose[]) => new Set(pods.map(({ metadata }) => metadata.uid));
  expect(uids(before).intersection(uids(await ns.list("pods"))).size).toBe(1);
});

/** Starts the manager, and has the API server ask its webhooks. Resolves when they answer. */
async function startManager(program: string, cluster: Kubectl): Promise<ProcessRecord> {
  await applyKueueCRDs(cluster);
  const [webhook = 0, health = 0] = await freePorts(2);
  const certDir = join(folder, "certificate");
  const ipAddresses = ["127.0.0.1"];
  const { certificate, key } = await makeCertificate({ commonName: "kueue", use: "server", ipAddresses });
  mkdirSync(certDir);
  writeFileSync(join(certDir, "tls.crt"), certificate);
  writeFileSync(join(certDir, "tls.key"), key);
  const config = join(folder, "config.yaml");
  const settings = {
    apiVersion: "config.kueue.x-k8s.io/v1beta2",
    kind: "Configuration",
    health: { healthProbeBindAddress: `127.0.0.1:${health}` },
    metrics: { bindAddress: "0" },
    webhook: { host: "127.0.0.1", port: webhook, certDir },
    leaderElection: { leaderElect: false },
    internalCertManagement: { enable: false },
    integrations: { frameworks: ["pod"] },
  };
  writeFileSync(config, stringify(settings));
  const started = startProcess({
    name: "kueue",
    command: "unshare",
    args: [
      ...["--mount", "--map-root-user", "sh", "-c", IN_OWN_ETC, "sh", certDir],
      ...[program, `--config=${config}`, "--feature-gates=VisibilityOnDemand=false"],
    ],
    logFile: join(world.logs, "kueue.log"),
    env: { KUBECONFIG: cluster.kubeconfig },
  });
  await untilAnswering(`http://127.0.0.1:${health}/readyz`, started, new AbortController().signal);
  const caBundle = Buffer.from(certificate).toString("base64");
  for (const each of await webhooks((path) => ({ url: `https://127.0.0.1:${webhook}${path}`, caBundle }))) {
    await run(cluster, ["apply", "-f", "-"], JSON.stringify(each));
  }
  return started;
}

/** Reads the configurations of the manager's webhooks. @param at returns where one is, by its path */
async function webhooks(at: (path: string) => object): Promise<Loose[]> {
  const file = join(await kueueFolder(), "config/components/webhook/manifests.yaml");
  const documents = parseAllDocuments(readFileSync(file, "utf8"));
  return documents.map((document) => document.toJSON()).map((configuration: Loose) => ({
    ...configuration,
    webhooks: configuration.webhooks
      .filter(({ rules }: Loose) =>
        rules.every(({ apiGroups }: Loose) => apiGroups.every((each: string) => GROUPS.includes(each)))
      )
      .map(({ clientConfig, ...rest }: Loose) => ({ ...rest, clientConfig: at(clientConfig.service.path) })),
  }));
}
