/**
 * Starts what tests share, in the process that runs them all. `METACONTROLLER` names a real binary, otherwise the
 * fake one runs; `HOOKBOX_TEST_NODES` says `real`, which fails where there can be none, `simulated`, or `auto`, the
 * default. @module
 */
import { execFile } from "node:child_process";
import { globSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { startCluster } from "../../dev/cluster/cluster.ts";
import { freePorts } from "../../dev/cluster/ports.ts";
import { localCRDs } from "../../dev/crds.ts";
import { startMetacontroller } from "../../dev/metacontroller/start.ts";
import { readCRDs, renderManifests } from "../../packages/manifests/render.ts";
import { run } from "./kubectl.ts";
import { startChild } from "./processes.ts";
import type { BareCluster, Suite } from "./shared.ts";

export interface Surroundings {
  /** Folder for whatever is written. */
  directory: string;
  logs: string;
  say(line: string): void;
  /** Takes note of what is to be done after the last test; what was noted last is done first. */
  atEnd(stop: () => Promise<void>): void;
}

/** Writes of what our controllers make, when they are answered, without bodies. */
const AUDIT_POLICY = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted, Panic]
rules:
  - level: Metadata
    verbs: [create, update, patch, delete]
    resources:
      - { group: agents.x-k8s.io, resources: [sandboxes, sandboxes/status] }
      - { group: "", resources: [pods, services, persistentvolumeclaims] }
  - level: None
`;

/** Simulated nodes in addition to the real one, for tests that want many Pods. */
const SIMULATED_NODES = 8;
const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/**
 * Starts a cluster with hookbox in it; half a minute. `HOOKBOX_TEST_WORLD` is one that runs already, as JSON: the
 * recorder of Metacontroller sets it.
 *
 * @throws {Error} if anything of it does not start
 */
export async function startSuite({ directory, logs, say, atEnd }: Surroundings): Promise<Suite> {
  const given = process.env["HOOKBOX_TEST_WORLD"];
  if (given !== undefined) return JSON.parse(given) as Suite;
  const nodes = (process.env["HOOKBOX_TEST_NODES"] ?? "auto") as "auto" | "real" | "simulated";
  const policy = join(directory, "audit.yaml");
  writeFileSync(policy, AUDIT_POLICY);
  const writesLog = join(logs, "writes.log");
  const apiServerArgs = [`--audit-policy-file=${policy}`, `--audit-log-path=${writesLog}`];
  const options = { stateDir: join(directory, "cluster"), nodes, simulatedNodes: SIMULATED_NODES, crds: localCRDs() };
  const cluster = await startCluster({ ...options, apiServerArgs, progress: say });
  atEnd(() => cluster.stop());
  const [port = 0, traces = 0, keeperPort = 0] = await freePorts(3);
  const hooksURL = `http://127.0.0.1:${port}`;
  // There is a collector while a test has one: nothing is sent for objects that no client traces.
  const tracesURL = `http://127.0.0.1:${traces}`;
  const tracing = ["--otlp-endpoint", tracesURL];
  await run(cluster, ["apply", "-f", "-"], renderManifests(hooksURL));
  await run(cluster, ["apply", "-k", join(ROOT, "deploy/managedfields")]);
  const hooks = startChild("hooks", ["hooks/serve.ts", "--host", "127.0.0.1", "--port", `${port}`, ...tracing], logs);
  atEnd(hooks.stop);
  const logFile = join(logs, "metacontroller.log");
  const engine = await startMetacontroller({ kubeconfig: cluster.kubeconfig, logFile, progress: say });
  atEnd(() => engine.stop());
  const args = ["packages/keeper/main.ts", "--kubeconfig", cluster.kubeconfig, "--port", `${keeperPort}`, ...tracing];
  const keeper = startChild("keeper", args, logs);
  atEnd(keeper.stop);
  say(`nodes: ${cluster.nodes}${cluster.whyNotReal ? ` (${cluster.whyNotReal})` : ""}`);
  say(`${engine.kind === "real" ? "Metacontroller" : "the fake Metacontroller"} ${engine.version}`);
  const { kubeconfig, kubectl } = cluster;
  return {
    kubeconfig,
    kubectl,
    hooksURL,
    tracesURL,
    metricsURL: `http://127.0.0.1:${keeperPort}/metrics`,
    engine: engine.kind,
    nodes: cluster.nodes === "real" ? "real" : "simulated",
    logs,
    writesLog,
  };
}

/** Starts an API server with our CRDs and nothing else; some seconds. */
export async function startBare({ directory, atEnd }: Surroundings): Promise<BareCluster> {
  const cluster = await startCluster({ stateDir: join(directory, "bare"), nodes: "none", crds: readCRDs() });
  atEnd(() => cluster.stop());
  // Files apply it once more, at the same time, with the Role of their own namespace.
  await run(cluster, ["apply", "-f", join(ROOT, "deploy/keeper/rbac.yaml")]);
  const { kubeconfig, kubectl } = cluster;
  return { kubeconfig, kubectl };
}

const npm = (args: string[], cwd: string) => promisify(execFile)("npm", args, { cwd });

/** Packs what is published and installs all of it into a project of its own in `folder`; takes a while. */
export async function packAndInstall(folder: string): Promise<{ folder: string }> {
  mkdirSync(folder, { recursive: true });
  await npm(["run", "pack", "--", "--pack-destination", folder], ROOT);
  return await installPacked(folder, join(folder, "*.tgz"));
}

/** Installs the packages in the files of this pattern into a project of its own in `folder`. */
export async function installPacked(folder: string, pattern: string): Promise<{ folder: string }> {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }));
  await npm(["install", "--prefer-offline", "--no-audit", "--no-fund", ...globSync(pattern)], folder);
  return { folder };
}
