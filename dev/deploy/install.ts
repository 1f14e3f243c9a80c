/**
 * Installs Metacontroller and hookbox on a local cluster without access to a registry, with locally built images:
 * hookbox as users do it, with kubectl, Helm or hookbox's own command. @module
 */
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { parse, stringify } from "yaml";
import { findPrograms } from "../cluster/binaries.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { importImages } from "../cluster/images.ts";
import { HELM } from "../cluster/programs.ts";
import { hookboxImage, METACONTROLLER_IMAGE, metacontrollerImage } from "./images.ts";

const DEPLOY = fileURLToPath(new URL("../../deploy", import.meta.url));
const TIMEOUT = "--timeout=180s";
const COMMAND = fileURLToPath(new URL("../../packages/cli/main.ts", import.meta.url));
const CHART = ["hookbox", join(DEPLOY, "chart"), "-n", "hookbox-system"];

interface Options {
  progress: (line: string) => void;
  signal?: AbortSignal;
}

interface InstallOptions extends Options {
  /** `hookbox` installs as if it takes over from another controller. @default "kubectl" */
  by?: "kubectl" | "helm" | "hookbox";
  /** Path of a Metacontroller. Default: environment variable METACONTROLLER; empty: the fake Metacontroller. */
  metacontroller?: string;
}

/**
 * Installs Metacontroller and hookbox, and resolves when all of it is Ready.
 *
 * @throws {Error} with the message of kubectl, Helm or hookbox, if something is refused, or not Ready within three
 * minutes
 */
export async function install(cluster: Cluster, options: InstallOptions): Promise<void> {
  const { progress, signal, metacontroller = process.env["METACONTROLLER"] ?? "" } = options;
  const { run, kubectl } = commands(cluster, signal);
  const folder = mkdtempSync(join(tmpdir(), "hookbox-deploy-"));
  try {
    const image = await hookboxImage(join(folder, "hookbox"));
    await importImages(
      cluster.stateDir,
      [await metacontrollerImage(join(folder, "engine"), metacontroller), image],
      options,
    );
    progress(`installing ${metacontroller === "" ? "the fake Metacontroller" : "Metacontroller"} …`);
    await kubectl(["apply", "--server-side", "-f", "-"], metacontrollerManifests());
    await kubectl(["wait", "--for=condition=Established", "crd", "--all", TIMEOUT]);
    progress("installing hookbox …");
    if (options.by === "helm") {
      await run(await helm(options), ["install", ...CHART, "--create-namespace"]);
    } else if (options.by === "hookbox") {
      await run(process.execPath, [COMMAND, "install", "--apply", "--wait", "--force", "--image", image.name]);
    } else {
      for (const folder of ["namespaces", "../crds", "."]) await kubectl(["apply", "-k", join(DEPLOY, folder)]);
      await kubectl(["apply", "-k", join(DEPLOY, "managedfields")]);
    }
    await kubectl(["-n", "metacontroller", "rollout", "status", "statefulset/metacontroller", TIMEOUT]);
    for (const namespace of ["hookbox-system", "agent-sandbox-system"]) {
      await kubectl(["-n", namespace, "wait", "--for=condition=Available", "deployment", "--all", TIMEOUT]);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Upgrades an installation by Helm, and resolves when all of it is Ready.
 *
 * @param values each as for `--set`
 * @throws {Error} with Helm's message, if something is not Ready within three minutes
 */
export async function upgrade(cluster: Cluster, values: string[], options: Options): Promise<void> {
  const set = values.flatMap((value) => ["--set", value]);
  options.progress("upgrading hookbox …");
  const { run } = commands(cluster, options.signal);
  await run(await helm(options), ["upgrade", ...CHART, "--reset-then-reuse-values", ...set, "--wait", TIMEOUT]);
}

/** Builds hookbox's image and imports it into the node. @param checkout folder of the source; default: this checkout */
export async function importHookbox(cluster: Cluster, tag: string, options: Options, checkout?: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "hookbox-deploy-"));
  try {
    await importImages(cluster.stateDir, [await hookboxImage(folder, tag, checkout)], options);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Reverts the last upgrade, and resolves when the former version runs. @throws like {@link upgrade} */
export async function rollback(cluster: Cluster, options: Options): Promise<void> {
  options.progress("rolling hookbox back …");
  const { run } = commands(cluster, options.signal);
  await run(await helm(options), ["rollback", "hookbox", "-n", "hookbox-system", "--wait", TIMEOUT]);
}

async function helm(options: Options): Promise<string> {
  const { helm = "helm" } = await findPrograms(HELM, options);
  return helm;
}

function commands(cluster: Cluster, signal: AbortSignal | undefined) {
  const run = async (command: string, args: string[], input?: string) => {
    const env = { ...process.env, KUBECONFIG: cluster.kubeconfig };
    const running = promisify(execFile)(command, args, { signal, env });
    // A command may end before it has read its input. Its exit code shows whether it succeeded.
    if (input !== undefined) running.child.stdin?.on("error", () => {}).end(input);
    await running;
  };
  return { run, kubectl: (args: string[], input?: string) => run(cluster.kubectl, args, input) };
}

const METACONTROLLER_FOLDER = new URL("../../deploy/metacontroller/", import.meta.url);
const METACONTROLLER_CRDS = new URL("../metacontroller/crds.yaml", import.meta.url);
const NAME = "metacontroller";
const LABELS = { "app.kubernetes.io/name": NAME };
const RBAC = "rbac.authorization.k8s.io";

interface StatefulSet {
  metadata: object;
  spec: { template: { spec: { containers: object[] } } };
}

/**
 * Renders Metacontroller's namespace, CRDs, account, rights and process. Account and process are as in Metacontroller's
 * own manifests; flags and rights are hookbox's (deploy/metacontroller).
 */
export function metacontrollerManifests(): string {
  const objects = [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: NAME } },
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: NAME, namespace: NAME } },
    { apiVersion: `${RBAC}/v1`, kind: "ClusterRole", metadata: { name: NAME }, rules: rights() },
    {
      apiVersion: `${RBAC}/v1`,
      kind: "ClusterRoleBinding",
      metadata: { name: NAME },
      roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: NAME },
      subjects: [{ kind: "ServiceAccount", name: NAME, namespace: NAME }],
    },
    statefulSet(),
  ];
  return [readFileSync(METACONTROLLER_CRDS, "utf8").trimEnd(), ...objects.map((object) => stringify(object))].join(
    "\n---\n",
  );
}

function rights(): object[] {
  const [{ value }] = parse(read("rights.yaml"));
  return value;
}

function statefulSet(): object {
  const { metadata, spec, ...rest }: StatefulSet = parse(read("statefulset.yaml"));
  const { template } = spec;
  const probe = (path: string) => ({ httpGet: { path, port: 8081 }, periodSeconds: 2, timeoutSeconds: 5 });
  // A busy node answers late, and the kubelet must not kill a working process.
  const livenessProbe = { ...probe("/healthz"), periodSeconds: 10, failureThreshold: 6 };
  const probes = { livenessProbe, readinessProbe: probe("/readyz") };
  const containers = template.spec.containers.map((container) => ({
    ...container,
    image: METACONTROLLER_IMAGE,
    ...probes,
  }));
  return {
    ...rest,
    metadata: { ...metadata, labels: LABELS },
    spec: {
      replicas: 1,
      serviceName: "",
      selector: { matchLabels: LABELS },
      template: { metadata: { labels: LABELS }, spec: { ...template.spec, serviceAccountName: NAME, containers } },
    },
  };
}

function read(name: string): string {
  return readFileSync(new URL(name, METACONTROLLER_FOLDER), "utf8");
}
