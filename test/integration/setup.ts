/**
 * Global setup of the integration suite: one local cluster, the CRDs, an engine, all hooks in one process and the
 * keeper. `METACONTROLLER` names a real binary; otherwise the stand-in runs. `HOOKBOX_TEST_WORLD` is a world that runs
 * already, as JSON of what is provided to tests: whoever records one gives it. @module
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import type { ProvidedContext } from "vitest";
import type { TestProject } from "vitest/node";
import { startCluster } from "../../dev/cluster/cluster.ts";
import { freePorts } from "../../dev/cluster/ports.ts";
import { localCRDs } from "../../dev/crds.ts";
import { startMetacontroller } from "../../dev/metacontroller/start.ts";
import { renderManifests } from "../../tools/manifests/render.ts";
import { run } from "./kubectl.ts";
import { endProcess, startChild } from "./processes.ts";

declare module "vitest" {
  interface ProvidedContext {
    kubeconfig: string;
    kubectl: string;
    /** Base URL of the hooks, and the file that holds the id of the process that serves them. */
    hooksURL: string;
    hooksPidFile: string;
    engine: "real" | "stand-in";
    nodes: "real" | "simulated" | "none";
    logs: string;
    /** Base URL of a proxy before hooks in the test's own process, which are below their port there; empty: there is none. */
    hookProxy: string;
  }
}

/** Simulated nodes beside the real one, for tests that want many Pods. */
const SIMULATED_NODES = 8;

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const given = process.env["HOOKBOX_TEST_WORLD"];
  if (given !== undefined) {
    const world = JSON.parse(given) as ProvidedContext;
    for (const key of Object.keys(world) as (keyof ProvidedContext)[]) project.provide(key, world[key]);
    return () => Promise.resolve();
  }
  const say = (line: string) => process.stdout.write(`integration: ${line}\n`);
  const directory = mkdtempSync(join(tmpdir(), "hookbox-test-"));
  const logs = process.env["HOOKBOX_TEST_LOGS"] ?? join(directory, "logs");
  mkdirSync(logs, { recursive: true });
  const stops: (() => Promise<void>)[] = [() => Promise.resolve(rmSync(directory, { recursive: true, force: true }))];
  const stopAll = async () => {
    for (const stop of stops.splice(0).reverse()) await stop();
  };
  try {
    const wanted = (process.env["HOOKBOX_TEST_NODES"] ?? "auto") as "auto" | "real" | "simulated";
    const stateDir = join(directory, "cluster");
    const options = { stateDir, nodes: wanted, simulatedNodes: SIMULATED_NODES, crds: localCRDs() };
    const cluster = await startCluster({ ...options, progress: say });
    stops.push(() => cluster.stop());
    const kubectl = { kubectl: cluster.kubectl, kubeconfig: cluster.kubeconfig };
    const [port = 0] = await freePorts(1);
    const hooksURL = `http://127.0.0.1:${port}`;
    await run(kubectl, ["apply", "-f", "-"], renderManifests(hooksURL));
    const hooks = startChild("hooks", ["tools/serve/main.ts", "--host", "127.0.0.1", "--port", String(port)], logs);
    const hooksPidFile = join(directory, "hooks.pid");
    writeFileSync(hooksPidFile, String(hooks.pid));
    // By the file, not by the child: a test may have put another process in its place.
    stops.push(() => endProcess(Number(readFileSync(hooksPidFile, "utf8"))));
    const engine = await startMetacontroller({
      kubeconfig: cluster.kubeconfig,
      logFile: join(logs, "metacontroller.log"),
      progress: say,
    });
    stops.push(() => engine.stop());
    const keeper = startChild("keeper", ["keeper/main.ts", "--kubeconfig", cluster.kubeconfig], logs);
    stops.push(keeper.stop);
    say(`nodes: ${cluster.nodes}${cluster.whyNotReal ? ` (${cluster.whyNotReal})` : ""}`);
    say(`engine: ${engine.kind === "real" ? "Metacontroller" : "the stand-in"} ${engine.version}`);
    project.provide("kubeconfig", cluster.kubeconfig);
    project.provide("kubectl", cluster.kubectl);
    project.provide("hooksURL", hooksURL);
    project.provide("hooksPidFile", hooksPidFile);
    project.provide("engine", engine.kind);
    project.provide("nodes", cluster.nodes);
    project.provide("logs", logs);
    project.provide("hookProxy", "");
  } catch (error) {
    await stopAll();
    throw error;
  }
  return stopAll;
}
