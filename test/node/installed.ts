/** hookbox installed as users install it, on a cluster made anew for the tests of one file. @module */
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterAll, beforeAll } from "vitest";
import { type Cluster, startCluster } from "../../dev/cluster/cluster.ts";
import { install } from "../../dev/deploy/install.ts";
import { run } from "../integration/kubectl.ts";
import type { Loose } from "../integration/namespace.ts";

/** The cluster, and the few things that tests do with it. */
export interface Installed {
  cluster(): Cluster;
  kubectl(...args: string[]): Promise<string>;
  apply(text: string): Promise<string>;
  /** What kubectl prints, as JSON. */
  json(...args: string[]): Promise<Loose>;
}

export const progress = (line: string): void => void process.stdout.write(`deploy: ${line}\n`);

/** Reads a file of examples/. */
export function example(name: string): string {
  return readFileSync(new URL(`../../examples/${name}.yaml`, import.meta.url), "utf8");
}

/**
 * Starts a cluster for the tests of a group, and ends it.
 *
 * @param crds applied before anything is installed
 * @param simulatedNodes in addition to the real one
 */
export function installedBy(by: "kubectl" | "helm", crds: string[], simulatedNodes = 0): Installed {
  let cluster: Cluster;
  beforeAll(async () => {
    const stateDir = mkdtempSync(join(tmpdir(), "hookbox-deploy-"));
    cluster = await startCluster({ stateDir, nodes: "real", simulatedNodes, networkPolicies: true, crds, progress });
    await install(cluster, { by, progress });
  }, 1_800_000);
  afterAll(() => cluster?.stop());
  const kubectl = (...args: string[]) => run(cluster, args);
  return {
    cluster: () => cluster,
    kubectl,
    apply: (text) => run(cluster, ["apply", "-f", "-"], text),
    json: async (...args) => JSON.parse(await kubectl(...args, "-o", "json")),
  };
}
