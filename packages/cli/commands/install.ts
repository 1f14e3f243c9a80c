/** `hookbox install` and `hookbox manifests`: install hookbox in a cluster, or print its manifests. @module */
import { randomBytes } from "node:crypto";
import type { Command } from "commander";
import { E2B_SECRET, ROUTER_NAMESPACE } from "../../api/installation.ts";
import type { KubeObject } from "../../api/objects/objects.ts";
import { type Api, isOk, messageOf, pathOf } from "../../kube/api.ts";
import { renderManifests } from "../../manifests/render.ts";
import { causeOf } from "../../process/log.ts";
import { pause } from "../../sdk/runtime/repeat.ts";
import { humanDuration } from "../../summary/age.ts";
import type { CommandContext } from "../commandcontext.ts";
import { Ended, Failure, reportOf, UsageError } from "../failure.ts";
import { type ApplyOptions, createApplier, hasMutatingPolicies, nameOf } from "../install/apply.ts";
import { bundleObjects, renderBundle } from "../install/bundle.ts";
import { collect, durationMs, optionsOf, withCluster } from "../options.ts";
import { spinning } from "../terminal.ts";

interface InstallOptions {
  apply?: boolean;
  crds: boolean;
  namespaces: boolean;
  dryRun?: boolean;
  e2b?: boolean;
  force?: boolean;
  hooksUrl?: string;
  image?: string;
  processes: boolean;
  routerArg: string[];
  systemNamespace: string;
  wait?: boolean;
  timeout: string;
}

const INSTALL_HELP = `
Without --apply and --dry-run, prints the YAML: the same objects as deploy/namespaces, crds/ and deploy/ together.
Metacontroller 4.17 or later must be installed first. "hookbox doctor" reports what is missing.

The output contains namespaces and CRDs. "kubectl delete -f" of it deletes them, and with them all Sandboxes of all users.
To get YAML that is safe to delete, add --no-crds --no-namespaces. "hookbox uninstall" keeps namespaces and CRDs.

Without --image, existing Deployments keep their images, and printed manifests have the image of deploy/. If the CRDs of
the cluster also serve v1alpha1, use --no-crds: those CRDs come from deploy/v1alpha1, or from the chart.

With --hooks-url, the hooks are not installed. With --no-processes, no process is installed: run "hookbox serve",
"hookbox keeper --no-binder", "hookbox binder" and "hookbox router" yourself.

With --e2b, repeat the option at each installation. The Secret hookbox-e2b, from which IDs and tokens follow, is created
once, by --apply: docs/e2b.md tells how to create it for printed YAML.

Options of the router are those of "hookbox router --help". Repeat them at each installation: they are not kept.

Examples:
  hookbox install --apply --wait --image registry.example/hookbox:0.2.0
  hookbox install --apply --router-arg=--authz-mode=allow-all
  hookbox install --apply --no-processes --hooks-url http://10.0.0.5:8080`;

export function defineInstall(command: Command, context: CommandContext): void {
  command
    .option("--apply", "apply the manifests to the cluster")
    .option("--wait", "with --apply: wait until all processes are ready")
    .option("--timeout <time>", "time limit of --wait", "3m")
    .option("--dry-run", "print what --apply would change")
    .option("--force", "take over fields that other managers have set")
    .option("--system-namespace <name>", "namespace of hooks, keeper and binder", "hookbox-system")
    .option("--image <name>", "image of all processes (default: existing processes keep theirs)")
    .option("--router-arg <arg>", "option of the router, such as --authz-mode=allow-all; can be repeated", collect, [])
    .option("--e2b", "also install the API for E2B's SDKs")
    .option("--no-crds", "without CRDs")
    .option("--no-namespaces", "without namespaces")
    .option("--no-processes", "install only CRDs, controllers, ServiceAccounts and RBAC")
    .addHelpText("after", INSTALL_HELP);
  withManifestOptions(command).action(async () => {
    const options = optionsOf<InstallOptions>(command);
    if (options.apply && options.dryRun) throw new UsageError("Cannot use --apply and --dry-run together");
    if (options.wait && !options.apply) {
      throw new UsageError("Cannot use --wait without --apply");
    }
    const timeoutMs = durationMs("--timeout", options.timeout);
    for (const [option, isUsed] of [["--router-arg", options.routerArg.length > 0], ["--e2b", options.e2b]]) {
      if (isUsed && !options.processes) throw new UsageError(`Cannot use ${option} with --no-processes`);
    }
    await checkRouterArgs(options.routerArg);
    const { hooksUrl: hooksURL, systemNamespace: namespace, image, crds, namespaces, processes } = options;
    const { dryRun = false, force = false, e2b = false } = options;
    const bundle = { hooksURL, namespace, image, routerArgs: options.routerArg, crds, namespaces, processes, e2b };
    // Printed manifests may be applied to any cluster, so they lack the policy that only newer API servers have.
    const text = renderBundle(bundle);
    if (!options.apply && !dryRun) return context.stdout.write(text);
    const { api } = await context.connectCluster(options);
    const isServed = await hasMutatingPolicies(api);
    const rendered = bundleObjects(isServed ? renderBundle({ ...bundle, managedFields: true }) : text);
    const objects = image === undefined ? await keepImages(api, rendered, dryRun) : rendered;
    // Before the router: it would find a later one only minutes after its start.
    const prepare = async () => e2b && !dryRun ? await createE2BSecret(context, api) : undefined;
    if (!await applyAll(context, api, objects, { dryRun, force }, prepare)) throw new Ended(1);
    if (!options.wait) return;
    await untilRolledOut(context, api, objects, timeoutMs);
    context.stderr.write(`All processes are ready. To check the rest, run "${context.program} doctor".\n`);
  });
  withCluster(command);
}

/** Creates the secret from which IDs and tokens of E2B's clients follow, unless it exists. @throws {Failure} if it is refused */
async function createE2BSecret({ stdout }: CommandContext, api: Api): Promise<void> {
  const namespace = ROUTER_NAMESPACE;
  const metadata = { name: E2B_SECRET, namespace, labels: { "app.kubernetes.io/part-of": "hookbox" } };
  const data = { secret: btoa(randomBytes(48).toString("base64")) };
  const body = { apiVersion: "v1", kind: "Secret", metadata, data };
  const answer = await api.send({ method: "POST", path: pathOf({ resource: "secrets", namespace }), body });
  if (answer.status === 409) return;
  if (!isOk(answer)) throw new Failure(`Cannot create Secret ${namespace}/${E2B_SECRET}: ${messageOf(answer)}`);
  stdout.write(`secret/${E2B_SECRET} created\n`);
}

/** @throws {UsageError} if the router would not start with these arguments */
async function checkRouterArgs(args: string[]): Promise<void> {
  const { readOptions } = await import("../../router/options.ts");
  let read;
  try {
    read = readOptions(args);
  } catch (error) {
    throw new UsageError(`Cannot use --router-arg: ${causeOf(error)}`);
  }
  if (!read) throw new UsageError("Cannot use --router-arg: --help is not an option of a router that runs");
}

/** Kinds that all other objects need. */
const FIRST = ["Namespace", "CustomResourceDefinition"];

/**
 * Applies Namespaces and CRDs, and the other objects only if all of those were accepted. Prints each refusal.
 *
 * @param prepare called in between
 * @returns whether all objects were applied
 * @throws {Error} if the API server does not answer
 */
async function applyAll(
  { stdout, stderr, signal }: CommandContext,
  api: Api,
  objects: readonly KubeObject[],
  options: ApplyOptions,
  prepare: () => Promise<void>,
): Promise<boolean> {
  const apply = createApplier(api, options);
  const applyEach = async (some: readonly KubeObject[]) => {
    let isDone = true;
    for (const object of some) {
      try {
        stdout.write(`${nameOf(object)} ${await apply(object)}${options.dryRun ? " (dry run)" : ""}\n`);
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
        isDone = false;
        for (const line of reportOf(error).lines) stderr.write(`${line}\n`);
      }
      signal.throwIfAborted();
    }
    return isDone;
  };
  const isFirst = ({ kind }: KubeObject) => FIRST.includes(kind);
  if (await applyEach(objects.filter(isFirst))) {
    await prepare();
    return await applyEach(objects.filter((one) => !isFirst(one)));
  }
  stderr.write("Nothing else was applied: it needs these namespaces and CRDs.\n");
  return false;
}

interface ManifestOptions {
  hooksUrl?: string;
}

const MANIFESTS_HELP = `
Example:
  hookbox manifests --hooks-url http://10.0.0.5:8080 | kubectl apply --server-side -f -`;

export function defineManifests(command: Command, context: CommandContext): void {
  withManifestOptions(command.addHelpText("after", MANIFESTS_HELP)).action(({ hooksUrl }: ManifestOptions) => {
    context.stdout.write(renderManifests(hooksUrl));
  });
}

/** Adds the options that say what the manifests contain. */
function withManifestOptions(command: Command): Command {
  return command
    .option(
      "--hooks-url <url>",
      "URL of the hooks for Metacontroller, which calls hook H at URL/H/sync " +
        "(default: Services in hookbox-system)",
    );
}

/** The fields of a Deployment that concern images (apps/v1). */
interface DeployedImages extends KubeObject {
  spec: { template: { spec: { containers: { name: string; image?: string | undefined }[] } } };
}

/**
 * Returns the objects. Each Deployment gets the images of the Deployment of its name in the cluster.
 *
 * @param isDryRun in a dry run, Deployments that do not exist keep the image in `objects`, which need not exist in a
 * registry
 * @throws {Failure} if a Deployment cannot be read, or, outside of a dry run, does not exist
 */
async function keepImages(api: Api, objects: readonly KubeObject[], isDryRun: boolean): Promise<KubeObject[]> {
  const missing: string[] = [];
  const kept = await Promise.all(objects.map(async (object) => {
    if (object.kind !== "Deployment") return object;
    const deployment = await withLiveImages(api, object as DeployedImages);
    if (!deployment) missing.push(`${object.metadata.namespace}/${object.metadata.name}`);
    return deployment ?? object;
  }));
  if (isDryRun || missing.length === 0) return kept;
  const which = missing.sort().join(", ");
  throw new Failure(
    `Cannot choose an image: these Deployments do not exist yet: ${which}`,
    "Name one that nodes can pull: --image REGISTRY/hookbox:TAG",
  );
}

/** Undefined if the Deployment does not exist, or lacks a container. */
async function withLiveImages(api: Api, wanted: DeployedImages): Promise<DeployedImages | undefined> {
  const { namespace, name } = wanted.metadata;
  const answer = await api.send({ method: "GET", path: pathOf({ resource: "deployments", namespace, name }) });
  if (answer.status === 404) return undefined;
  if (!isOk(answer)) throw new Failure(`Cannot read the image of Deployment ${name}: ${messageOf(answer)}`);
  const live = new Map(
    (answer.body as DeployedImages).spec.template.spec.containers.map((one) => [one.name, one.image]),
  );
  const { template } = wanted.spec;
  const containers = template.spec.containers.map((one) => ({ ...one, image: live.get(one.name) }));
  if (containers.some(({ image }) => image === undefined)) return undefined;
  return { ...wanted, spec: { ...wanted.spec, template: { ...template, spec: { ...template.spec, containers } } } };
}

const POLL_MS = 1000;

/** The fields of a Deployment that concern its rollout (apps/v1). */
interface Rollout extends KubeObject {
  spec: { replicas?: number };
  status?: { observedGeneration?: number; updatedReplicas?: number; readyReplicas?: number; replicas?: number };
}

/** Waits for the Deployments among `objects`. @throws {Failure} if one is not rolled out in time */
async function untilRolledOut(
  context: CommandContext,
  api: Api,
  objects: readonly KubeObject[],
  timeoutMs: number,
): Promise<void> {
  const deployments = objects.filter(({ kind }) => kind === "Deployment");
  const begun = performance.now();
  await spinning(context, "Waiting for Deployments", async (spinner) => {
    for (;;) {
      const lacking = (await Promise.all(deployments.map((one) => readRollout(api, one)))).filter((one) =>
        one !== undefined
      );
      if (lacking.length === 0) return;
      const waited = performance.now() - begun;
      if (waited >= timeoutMs) {
        const remedy =
          'Look at their Pods: kubectl get pods -A -l app.kubernetes.io/part-of=hookbox, and "hookbox doctor".';
        throw new Failure(`Not ready after ${humanDuration(waited)}: ${lacking.join(", ")}`, remedy);
      }
      spinner.setText(`Waiting for ${humanDuration(waited)}: ${lacking.join(", ")}`);
      await pause(POLL_MS, context.signal);
    }
  });
}

async function readRollout(api: Api, { metadata: { namespace = "", name } }: KubeObject): Promise<string | undefined> {
  const answer = await api.send({ method: "GET", path: pathOf({ resource: "deployments", namespace, name }) });
  if (!isOk(answer)) return `${namespace}/${name} (cannot be read)`;
  return lackOf(answer.body as Rollout);
}

/**
 * Returns what is missing in the rollout of a Deployment. Undefined if all of its Pods are Ready and from the newest
 * template, and there are no other Pods.
 */
export function lackOf({ metadata, spec, status = {} }: Rollout): string | undefined {
  const { replicas: wanted = 1 } = spec;
  const { observedGeneration = 0, updatedReplicas = 0, readyReplicas = 0, replicas = 0 } = status;
  const isSeen = observedGeneration >= (metadata.generation ?? 0);
  const ready = isSeen ? Math.min(updatedReplicas, readyReplicas) : 0;
  const isEnough = isSeen && ready >= wanted;
  if (isEnough && replicas <= wanted) return undefined;
  const old = isEnough ? `, and ${replicas - wanted} old` : "";
  return `${metadata.namespace}/${metadata.name} (${ready} of ${wanted}${old})`;
}
