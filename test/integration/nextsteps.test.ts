/** What `npm run up` says to type next, typed: in a cluster that has the CRDs already, as its own has. @module */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Cluster, environmentOf, nextSteps, startCluster } from "../../dev/cluster/cluster.ts";
import { localCRDs } from "../../dev/crds.ts";
import { typed } from "../bash.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "hookbox-up-"));
let cluster: Cluster;
beforeAll(async () => cluster = await startCluster({ stateDir: folder, nodes: "none", crds: localCRDs() }));
afterAll(async () => {
  await cluster?.stop();
  rmSync(folder, { recursive: true, force: true });
});

test("each kubectl command succeeds without a warning, the first time and again", async () => {
  const commands = nextSteps({ nodes: "real" }).split("\n").filter((line) => line.includes("kubectl "));
  expect(commands).toHaveLength(3);
  const text = [environmentOf(cluster), ...commands, ...commands].join("\n");
  const { code, output } = await typed(text, ROOT, process.env);
  expect(code, output).toBe(0);
  expect(output).not.toMatch(/warning/i);
  expect(output).toContain("sandboxwarmpool.extensions.agents.x-k8s.io/python created");
});
