/** The how-to for two clusters, typed as it stands: the suite's cluster, and one with simulated nodes. @module */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parse, stringify } from "yaml";
import { type Cluster, startCluster } from "../../dev/cluster/cluster.ts";
import { localCRDs } from "../../dev/crds.ts";
import { fencesOf, stepsOf } from "../../dev/docs/codeblocks.ts";
import { startMetacontroller } from "../../dev/metacontroller/start.ts";
import { renderManifests } from "../../packages/manifests/render.ts";
import { typed } from "../bash.ts";
import { MAIN } from "../node/transcript/hookbox.ts";
import { run } from "./kubectl.ts";
import { makeNamespace, type Namespace } from "./namespace.ts";
import { startChild } from "./processes.ts";
import { suite } from "./suite.ts";

const PAGE = "docs/howto/two-clusters.md";
const TEXT = readFileSync(new URL(`../../${PAGE}`, import.meta.url), "utf8");
const SDK = fileURLToPath(new URL("../../packages/sdk/mod.ts", import.meta.url));

const folder = mkdtempSync(join(tmpdir(), "hookbox-two-"));
const ends: (() => Promise<unknown>)[] = [];
let east: Cluster;

beforeAll(async () => {
  const progress = (line: string) => void process.stdout.write(`two clusters: ${line}\n`);
  const stateDir = join(folder, "east");
  east = await startCluster({ stateDir, nodes: "simulated", simulatedNodes: 2, crds: localCRDs(), progress });
  ends.push(() => east.stop());
  // Hooks know no cluster, so those of the suite also serve this one.
  await run(east, ["apply", "-f", "-"], renderManifests(suite.hooksURL));
  const logFile = join(folder, "metacontroller.log");
  const engine = await startMetacontroller({ kubeconfig: east.kubeconfig, logFile, progress });
  ends.push(() => engine.stop());
  const args = ["packages/keeper/main.ts", "--kubeconfig", east.kubeconfig, "--port", "0"];
  ends.push(startChild("keeper-east", args, folder).stop);
}, 1_800_000);

afterAll(async () => {
  for (const end of ends.toReversed()) await end();
  rmSync(folder, { recursive: true, force: true });
});

/** Writes a kubeconfig with a context for each cluster. Returns its path. */
function writeKubeconfig(namespaces: Record<string, Namespace>): string {
  const contexts = Object.entries(namespaces).map(([name, { cluster, name: namespace }]) => {
    const { clusters: [{ cluster: at }], users: [{ user }] } = parse(readFileSync(cluster.kubeconfig, "utf8"));
    return { name, at, user, context: { cluster: name, user: name, namespace } };
  });
  const path = join(folder, "kubeconfig");
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: contexts.map(({ name, at }) => ({ name, cluster: at })),
    users: contexts.map(({ name, user }) => ({ name, user })),
    contexts: contexts.map(({ name, context }) => ({ name, context })),
  };
  writeFileSync(path, stringify(config));
  return path;
}

test("the how-to does what it says, and its program goes to the second cluster", async () => {
  const namespaces = { west: await makeNamespace(), east: await makeNamespace(east) };
  const bin = join(folder, "bin");
  mkdirSync(bin);
  writeFileSync(join(bin, "hookbox"), `#!/bin/sh\nexec "${process.execPath}" "${MAIN}" "$@"\n`, { mode: 0o755 });
  const PATH = [bin, dirname(suite.kubectl), process.env["PATH"]].join(":");
  const env = { ...process.env, KUBECONFIG: writeKubeconfig(namespaces), PATH };
  const type = async (text: string, line: number) => {
    const failing = text.replaceAll(/^! (.+)$/gm, "if $1; then exit 99; fi");
    const { code, output } = await typed(failing, folder, env);
    expect(code, `${PAGE}:${line}\n${output}`).toBe(0);
    return output;
  };
  const [program] = fencesOf(TEXT, "ts").filter(({ mark }) => mark === "failover.ts");
  const steps = stepsOf(PAGE, TEXT);
  const removal = steps.pop()!;
  for (const { line, file, text } of steps) {
    if (file === undefined) await type(text, line);
    else writeFileSync(join(folder, file), text);
  }
  writeFileSync(join(folder, "failover.ts"), program!.text.replace('"hookbox"', JSON.stringify(SDK)));
  expect(await type(`${process.execPath} failover.ts`, program!.line)).toMatch(/^created sandbox-/m);
  await type(removal.text, removal.line);
  for (const ns of Object.values(namespaces)) expect(await ns.list("sandboxclaims")).toEqual([]);
});
