/**
 * Sandboxes and volumes in each namespace that hookbox uses survive every command that upgrades, rolls back or removes
 * hookbox. On a cluster with simulated nodes. @module
 */
import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Cluster, startCluster } from "../../dev/cluster/cluster.ts";
import { metacontrollerManifests } from "../../dev/deploy/install.ts";
import { bundleObjects, renderBundle, renderRetained } from "../../packages/cli/install/bundle.ts";
import { DEPLOY, helm } from "./chart.ts";
import { attempt, run, until } from "./kubectl.ts";
import { ON_SIMULATED_NODES, sleeper } from "./namespace.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const CHART = join(DEPLOY, "chart");
const RELEASE = ["-n", "hookbox-system"];
/** Users' Sandboxes may be in the installer's own namespaces: docs/router.md tells Go clients to create claims there. */
const HOMES = ["agent-sandbox-system", "hookbox-system", "default"];

let cluster: Cluster;
const root = mkdtempSync(join(tmpdir(), "hookbox-kept-"));
const progress = (line: string) => void process.stdout.write(`kept: ${line}\n`);

beforeAll(async () => {
  cluster = await startCluster({ stateDir: join(root, "cluster"), nodes: "simulated", simulatedNodes: 1, progress });
  await run(cluster, ["apply", "--server-side", "-f", "-"], metacontrollerManifests());
  await run(cluster, ["wait", "--for=condition=Established", "crd", "--all"]);
}, 1_800_000);
afterAll(async () => {
  await cluster?.stop();
  rmSync(root, { recursive: true, force: true, maxRetries: 5 });
});

const withHelm = (...args: string[]) => helm(...args, "--kubeconfig", cluster.kubeconfig);
const hookbox = (...args: string[]) =>
  promisify(execFile)(process.execPath, [
    join(ROOT, "packages/cli/main.ts"),
    ...args,
    "--kubeconfig",
    cluster.kubeconfig,
  ]);

/** Makes a Sandbox with a volume in each namespace, and returns the UIDs of all that a user would miss. */
async function usersWork(): Promise<string[]> {
  await until(() => attempt(cluster, ["get", "--raw", "/apis/agents.x-k8s.io/v1beta1"]), ({ code }) => code === 0);
  for (const namespace of HOMES) {
    const metadata = { name: "work", namespace };
    const claim = {
      ...{ apiVersion: "v1", kind: "PersistentVolumeClaim", metadata },
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Mi" } } },
    };
    const sandbox = { ...sleeper("work", { volumeClaimTemplates: [] }, ON_SIMULATED_NODES), metadata };
    const text = JSON.stringify({ apiVersion: "v1", kind: "List", items: [sandbox, claim] });
    await until(() => attempt(cluster, ["apply", "-f", "-"], text), ({ code }) => code === 0);
  }
  return await standing();
}

/** UIDs of the namespaces, CRDs, Sandboxes and volumes that are there and not about to go. */
async function standing(): Promise<string[]> {
  const CRDS = ["sandboxes.agents.x-k8s.io", "sandboxwarmpools.extensions.agents.x-k8s.io"];
  const all: string[] = [];
  const read = async (...args: string[]) => {
    const { metadata } = JSON.parse(await run(cluster, ["get", ...args, "-o", "json"]));
    expect(metadata.deletionTimestamp, args.join(" ")).toBeUndefined();
    all.push(metadata.uid);
  };
  for (const crd of CRDS) await read("crd", crd);
  for (const namespace of HOMES) {
    await read("namespace", namespace);
    for (const kind of ["sandbox", "persistentvolumeclaim"]) await read(kind, "work", "-n", namespace);
  }
  return all;
}

/** The chart as it was before it kept the router's namespace. */
function olderChart(): string {
  const folder = join(root, "older");
  cpSync(CHART, folder, { recursive: true, dereference: true });
  const file = join(folder, "templates/namespace.yaml");
  const text = readFileSync(file, "utf8");
  const object = text.slice(text.indexOf("apiVersion: v1")).replace(/ {2}annotations:\n.*\n/, "")
    .replace("{{ $name }}", "agent-sandbox-system");
  const older = `{{- if and .Values.router.enabled .Values.router.createNamespace }}\n${object}`;
  expect(older).not.toContain("resource-policy");
  writeFileSync(file, older);
  return folder;
}

const values = (...set: string[]) => set.flatMap((value) => ["--set", value]);
const upgrade = (...set: string[]) => withHelm("upgrade", "hookbox", CHART, ...RELEASE, ...values(...set));

test("no command of Helm deletes users' Sandboxes", async () => {
  await withHelm("install", "hookbox", olderChart(), ...RELEASE, "--create-namespace", ...values("router.replicas=0"));
  const before = await usersWork();
  // The first upgrade from a chart that did not keep it may be the one that leaves the router out.
  await upgrade("router.enabled=false");
  expect(await standing(), "router.enabled=false").toEqual(before);
  const commands: [what: string, command: () => Promise<unknown>][] = [
    ["an upgrade", () => upgrade()],
    ["router.createNamespace=false", () => upgrade("router.createNamespace=false")],
    ["crds.install=false", () => upgrade("crds.install=false")],
    ["a rollback to before the router", () => withHelm("rollback", "hookbox", "2", ...RELEASE)],
    ["a rollback to after it", () => withHelm("rollback", "hookbox", "3", ...RELEASE)],
    ["helm uninstall", () => withHelm("uninstall", "hookbox", ...RELEASE)],
    ["a new install", () => withHelm("install", "hookbox", CHART, ...RELEASE)],
    ["router.enabled=false at once", () => upgrade("router.enabled=false")],
    ["helm uninstall without the router", () => withHelm("uninstall", "hookbox", ...RELEASE)],
  ];
  for (const [what, command] of commands) {
    await command();
    expect(await standing(), what).toEqual(before);
  }
  const left = JSON.parse(await run(cluster, ["get", "deployments", "-A", "-o", "json"]));
  expect(left.items).toEqual([]);
});

test("no kustomization with something to run deletes users' Sandboxes", async () => {
  for (const folder of ["deploy/namespaces", "crds", "deploy", "deploy/managedfields"]) {
    await run(cluster, ["apply", "-k", join(ROOT, folder)]);
  }
  const before = await usersWork();
  for (const folder of ["deploy/managedfields", "deploy"]) {
    await run(cluster, ["delete", "-k", join(ROOT, folder)]);
    expect(await standing(), folder).toEqual(before);
  }
  const v1alpha1 = await run(cluster, ["kustomize", join(ROOT, "deploy/v1alpha1")]);
  expect(v1alpha1).toContain("kind: Deployment");
  expect(v1alpha1).not.toMatch(/^kind: (Namespace|CustomResourceDefinition)$/m);
});

test("deleting what a release installs deletes no user's Sandbox", async () => {
  const options = { namespace: "hookbox-system", image: "r.example/hookbox:1", processes: true };
  const text = renderBundle({ ...options, crds: false, namespaces: false });
  await run(cluster, ["apply", "--server-side", "--force-conflicts", "-f", "-"], renderRetained("hookbox-system"));
  await run(cluster, ["apply", "--server-side", "--force-conflicts", "-f", "-"], text);
  const before = await usersWork();
  await run(cluster, ["delete", "-f", "-"], text);
  expect(await standing()).toEqual(before);
  const kept = bundleObjects(renderRetained("hookbox-system")).map(({ kind }) => kind);
  expect(new Set(kept)).toEqual(new Set(["Namespace", "CustomResourceDefinition"]));
});

test("hookbox uninstall deletes no user's Sandbox", async () => {
  await hookbox("install", "--apply", "--force", "--image", "r.example/hookbox:1");
  const before = await usersWork();
  await hookbox("uninstall", "--apply");
  expect(await standing()).toEqual(before);
});
