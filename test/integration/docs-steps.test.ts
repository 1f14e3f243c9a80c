/**
 * The first page, and the pages on installing, moving over and changing a hook, typed as they stand, on a cluster whose nodes are simulated:
 * Pods become Ready, and nothing runs in them. docker, kustomize and what github.com has of Metacontroller are fakes, as
 * are the CRDs of cert-manager and of Prometheus' operator, and the Go controller (standins.ts). Ports of processes that
 * stay are others than the page has, because other processes on this machine may use those. @module
 */
import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { findPrograms } from "../../dev/cluster/binaries.ts";
import { type Cluster, startCluster } from "../../dev/cluster/cluster.ts";
import { freePorts } from "../../dev/cluster/ports.ts";
import { HELM } from "../../dev/cluster/programs.ts";
import { changed, fencesOf, type Step, stepsOf } from "../../dev/docs/codeblocks.ts";
import type { Api } from "../../packages/kube/api.ts";
import { connect } from "../../packages/kube/connection.ts";
import { kubeconfigCredentials } from "../../packages/kube/credentials.ts";
import { type Desk, makeDesk } from "./desk.ts";
import { run, until } from "./kubectl.ts";
import type { Loose } from "./namespace.ts";
import { OF_THE_PEER, othersCRDs, peerCRD, peerObjects } from "./standins.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const DEPLOYMENTS = "/apis/apps/v1/namespaces/hookbox-system/deployments";
const SANDBOXES = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/sandboxes.agents.x-k8s.io";

/** The ways to install that a page has; what is marked with none is done once. */
const WAYS = ["helm", "hookbox", "kubectl"] as const;
/** What `npm run ok` does that reads hooks and takes no minutes. */
const GATE = "npm run -s fmt -- --check && npm run -s lint && npx tsc --noEmit -p . && npm run -s crds -- --check\n" +
  "npx vitest run --project unit test/cli/replay test/mutants\n";
/** Marks commands that go on until they are stopped, one in each line. */
const STAYS = "stays";

let cluster: Cluster;
let desk: Desk;
let api: Api;
const root = realpathSync(mkdtempSync(join(tmpdir(), "hookbox-docs-")));
const progress = (line: string) => void process.stdout.write(`docs: ${line}\n`);

beforeAll(async () => {
  const stateDir = join(root, "cluster");
  const { helm = "helm" } = await findPrograms(HELM, { progress });
  cluster = await startCluster({ stateDir, nodes: "simulated", simulatedNodes: 2, progress });
  desk = makeDesk(join(root, "desk"), cluster, helm);
  const credentials = await kubeconfigCredentials(cluster.kubeconfig);
  api = connect(credentials, { signal: new AbortController().signal, userAgent: "hookbox-test" });
  await run(cluster, ["apply", "-f", "-"], othersCRDs());
  // Helm is built on a new machine, while other files' tests run.
}, 1_800_000);
afterAll(async () => {
  await cluster?.stop();
  rmSync(root, { recursive: true, force: true, maxRetries: 5 });
});

async function read(path: string): Promise<Loose | undefined> {
  const { status, body } = await api.send({ method: "GET", path });
  return status === 200 ? body : undefined;
}

/** Does what a page says, as far as it is `wanted`, and looks after each step; returns all outputs. */
async function follow(page: string, wanted = (_: string[]) => true, look = () => Promise.resolve()): Promise<string> {
  const steps = stepsOf(page, readFileSync(join(ROOT, page), "utf8"), [...WAYS, STAYS]);
  expect(steps.length).toBeGreaterThan(1);
  let outputs = "";
  for (const step of steps.filter(({ marks }) => wanted(marks))) {
    outputs += await take(step, page);
    await look();
  }
  return outputs;
}

async function take({ line, kind, file = "", text, marks }: Step, page: string): Promise<string> {
  const path = join(desk.folder, file);
  if (kind === "file") writeFileSync(path, text);
  else if (kind === "change") writeFileSync(path, changed(readFileSync(path, "utf8"), text));
  else if (marks.includes(STAYS)) await keepAll(text);
  else {
    const { code, output } = await desk.type(text);
    expect(code, `${page}:${line}\n${output}`).toBe(0);
    return output;
  }
  return "";
}

/** Starts what stays, all of it at a time, and ends it. */
async function keepAll(text: string): Promise<void> {
  const [first, second] = await freePorts(2);
  const moved = text.trim().replaceAll(/808[01]/g, (port) => String(port === "8080" ? first : second));
  const stops = await Promise.all(moved.split("\n").map((line) => desk.keep(line, /"(Listening|Leading|Serving)"/)));
  for (const stop of stops) await stop();
}

/** Returns what notes how things are whenever they are not as before, and the notes. */
function notes<T>(look: () => Promise<T>): { noted: T[]; note: () => Promise<void> } {
  const noted: T[] = [];
  const note = async () => {
    const now = await look();
    if (JSON.stringify(now) !== JSON.stringify(noted.at(-1))) noted.push(now);
  };
  return { noted, note };
}

const OLD = `
apiVersion: agents.x-k8s.io/v1alpha1
kind: Sandbox
metadata: { name: old }
spec: { podTemplate: { spec: { containers: [{ name: main, image: "busybox:1.37" }] } } }
---
apiVersion: extensions.agents.x-k8s.io/v1alpha1
kind: SandboxClaim
metadata: { name: old }
spec: { sandboxTemplateRef: { name: agent } }
`;

/** The tag of one hook's image, the versions of Sandboxes that are served, and images of processes from elsewhere. */
async function installation(): Promise<string[]> {
  const images = new Map<string, string>(
    (await read(DEPLOYMENTS)).items.map((
      { metadata, spec }: Loose,
    ) => [metadata.name, spec.template.spec.containers[0].image.replace("registry.example/hookbox:", "")]),
  );
  const versions = (await read(SANDBOXES))?.spec.versions.map(({ name }: Loose) => name) ?? [];
  const elsewhere = [...images.values()].filter((image) => image.includes(":"));
  return [images.get("sandbox") ?? "none", ...versions, ...new Set(elsewhere)];
}

/** Which kinds of Metacontroller API servers serve. */
async function engineKinds(): Promise<string[]> {
  const { resources = [] } = await read("/apis/metacontroller.k8s.io/v1alpha1") ?? {};
  return resources.map(({ name }: Loose) => name);
}

/** Types the page as far as it is for one way to install; checks how the installation looked between steps. */
async function install(way: typeof WAYS[number], want: string[][]): Promise<void> {
  writeFileSync(join(desk.folder, "old.yaml"), OLD);
  const { noted, note } = notes(async () => {
    // A user who builds an image has waited for this.
    await until(
      engineKinds,
      (kinds) => kinds.includes("compositecontrollers") && kinds.includes("decoratorcontrollers"),
    );
    return await installation();
  });
  const isFirst = way === WAYS[0];
  await follow("docs/install.md", (marks) => marks.includes(way) || (isFirst && marks.length === 0), note);
  expect(noted).toEqual(want);
}

test("docs/install.md does what it says, by Helm", () =>
  install("helm", [
    ["none"],
    ["0.2.0", "v1beta1"],
    ["0.2.1", "v1beta1"],
    ["0.2.1", "v1beta1", "v1alpha1"],
    ["0.2.1", "v1beta1"],
    ["none", "v1beta1"],
  ]));

test("the three lines of docs/index.md install hookbox, and README.md has the same", async () => {
  const [lines = ""] = fencesOf(readFileSync(join(ROOT, "docs/index.md"), "utf8"), "sh").map(({ text }) => text);
  expect(lines.trim().split("\n")).toHaveLength(3);
  expect(readFileSync(join(ROOT, "README.md"), "utf8")).toContain(lines);
  // The commands of docs/install.md have left the CRDs.
  expect((await installation())[0]).toBe("none");
  const { code, output } = await desk.type(lines);
  expect(code, output).toBe(0);
  await until(engineKinds, (kinds) => kinds.includes("compositecontrollers"));
  expect(await installation()).toEqual(["0.2.0", "v1beta1"]);
  const removed = await desk.type("helm uninstall hookbox -n hookbox-system");
  expect(removed.code, removed.output).toBe(0);
  expect((await installation())[0]).toBe("none");
});

test("docs/hooks.md does what it says: a line in each Pod that is made, none in one that is kept", async () => {
  const hooks = join(desk.folder, "deploy/hooks");
  await run(cluster, ["apply", "-k", hooks]);
  onTestFinished(() => run(cluster, ["delete", "-k", hooks]).then(() => {}));
  const output = await follow("docs/hooks.md");
  const golden = join(desk.folder, "test/hooks/sandbox/golden");
  const hasPod = (file: string) => /kind: Pod\b/.test(readFileSync(join(golden, file), "utf8"));
  const answers = readdirSync(golden).filter((file) => file.endsWith(".out.yaml"));
  const made = answers.filter((file) => hasPod(file) && !hasPod(file.replace(".out.", ".in.")));
  const have = answers.filter((file) => readFileSync(join(golden, file), "utf8").includes("enableServiceLinks"));
  expect(have).toEqual(made);
  expect(made).toContain("service-links.out.yaml");
  const diffs = output.split(/^diff --git /m).slice(1);
  const added = diffs.filter((diff) => diff.includes("\nnew file mode "));
  expect(added.map((diff) => /b\/.*\/(\S+)/.exec(diff)?.[1])).toEqual([
    "service-links.in.yaml",
    "service-links.out.yaml",
  ]);
  const lines = diffs.filter((diff) => !added.includes(diff)).join("").split("\n");
  expect(lines.filter((line) => /^[+-](?![+-])/.test(line))).toEqual(
    Array(made.length - 1).fill("+      enableServiceLinks: false"),
  );
  const { code, output: said } = await desk.type(GATE);
  expect(code, said).toBe(0);
  // The others are as they were.
  expect(await installation()).toEqual(["rule-1", "v1beta1", "hookbox:0.2.0"]);
});

test("docs/install.md does what it says, by the command", async () => {
  await install("hookbox", [["0.2.0", "v1beta1"], ["0.2.1", "v1beta1"], ["none", "v1beta1"]]);
});

test("docs/install.md does what it says, by kubectl", () =>
  install("kubectl", [
    ["0.2.0", "v1beta1"],
    ["0.2.1", "v1beta1"],
    ["0.2.1", "v1beta1", "v1alpha1"],
    ["0.2.1", "v1beta1"],
    ["none", "v1beta1"],
  ]));

test("docs/migration.md does what it says: over, and back", async () => {
  const crd = join(desk.folder, "agent-sandbox-crds.yaml");
  writeFileSync(crd, peerCRD());
  await run(cluster, ["apply", "--server-side", "--force-conflicts", "-f", crd]);
  await run(cluster, ["apply", "-f", "-"], peerObjects());
  const uid = async () =>
    (await read("/apis/agents.x-k8s.io/v1beta1/namespaces/default/sandboxes/in-use"))?.metadata.uid;
  const before = await uid();
  // Of simulated Pods nobody takes a Lease.
  const end = await desk.keep("hookbox keeper --kubeconfig ~/.kube/config", /"Leading"[^]*"Leading"/);
  const { noted, note } = notes(async () => {
    const peer = await read("/apis/apps/v1/namespaces/agent-sandbox-system/deployments/agent-sandbox-controller");
    const crd = await read(SANDBOXES);
    const [{ schema }] = crd.spec.versions;
    const isPeers = schema.openAPIV3Schema.description === OF_THE_PEER;
    return { controllers: peer.spec.replicas, hook: (await installation())[0], isPeers };
  });
  await note();
  await follow("docs/migration.md", undefined, note);
  await end();
  expect(noted).toEqual([
    { controllers: 1, hook: "none", isPeers: true },
    { controllers: 0, hook: "0.2.0", isPeers: false },
    { controllers: 1, hook: "none", isPeers: true },
  ]);
  expect(before).toBeDefined();
  expect(await uid()).toBe(before);
});
