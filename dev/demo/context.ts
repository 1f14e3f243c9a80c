/** Opens the demo's stage on a cluster that exists, and removes what an earlier demo has left there. @module */
import { execFile } from "node:child_process";
import process from "node:process";
import { promisify } from "node:util";
import { parse } from "yaml";
import { shellWord } from "../../packages/api/shellwords.ts";
import type { KubeObject } from "../../packages/api/objects/objects.ts";
import { connectCluster } from "../../packages/cli/cluster.ts";
import type { Cluster } from "../../packages/cli/commandcontext.ts";
import { isAllowed, reviewAccess } from "../../packages/cli/doctor/check.ts";
import { reportOf } from "../../packages/cli/failure.ts";
import { hasMutatingPolicies } from "../../packages/cli/install/apply.ts";
import { bundleObjects, renderBundle } from "../../packages/cli/install/bundle.ts";
import { SYSTEM_NAMESPACE } from "../../packages/api/installation.ts";
import { readCRDs } from "../../packages/manifests/render.ts";
import { type Answer, type Api, isOk, messageOf, pathOf } from "../../packages/kube/api.ts";
import { type ContextParts, contextParts, copyCheckout, IMAGE, RUNTIME_IMAGE } from "./contextparts.ts";
import { existingOf, type Ledger, ledgerFile, openLedger, removeAll, unreadable } from "./ledger.ts";
import { type Loader, loaderOf } from "./loaders.ts";
import type { ContextOptions } from "./options.ts";
import { type Found, type Plan, planOf } from "./plan.ts";
import { createPullCheck, readPods, reasonsOf } from "./pods.ts";
import type { Stage } from "./stage.ts";
import { chapter, failed, held, makeShell, note, output } from "./terminal.ts";

const KUBECTL = "kubectl";
/** Longest time for the first answer of the API server, in milliseconds. */
const CONNECT_MS = 15_000;
/** Longest wait of a chapter, in seconds: the nodes may have to pull images. */
const WAIT_SECONDS = 240;
const CRD_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const GO_CONTROLLER = { namespace: "agent-sandbox-system", name: "agent-sandbox-controller" };
const KINDS = ["sandboxes", "sandboxclaims", "sandboxwarmpools", "sandboxtemplates"] as const;
/** What the demo has to create if it installs something, and what it creates in each case. */
const RIGHTS = {
  install: [
    ["apiextensions.k8s.io", "customresourcedefinitions"],
    ["rbac.authorization.k8s.io", "clusterroles"],
    ["admissionregistration.k8s.io", "validatingadmissionpolicies"],
    ["apps", "deployments"],
  ],
  always: [
    ["", "namespaces"],
    ["agents.x-k8s.io", "sandboxes"],
    ["extensions.agents.x-k8s.io", "sandboxclaims"],
    ["rbac.authorization.k8s.io", "rolebindings"],
  ],
} as const;

/** The cluster of the options. */
interface Target {
  cluster: Cluster;
  api: Api;
  loader: Loader | undefined;
  /** Options of kubectl that name the cluster. */
  globals: string[];
}

/** Returns the command that removes what a demo has left. */
export function removeCommand({ context, kubeconfig }: Pick<ContextOptions, "context" | "kubeconfig">): string {
  const file = kubeconfig === undefined ? "" : ` --kubeconfig ${shellWord(kubeconfig)}`;
  return `npm run demo -- --context ${shellWord(context)}${file} --remove`;
}

/** Removes what an earlier demo has left. @throws {Error} if the cluster does not answer, or something stays */
export async function removeLeftovers(options: ContextOptions, signal: AbortSignal): Promise<void> {
  chapter(`The cluster of the context ${options.context}`);
  const target = await connectTo(options, signal);
  const ledger = openLedger(ledgerFile(options.context, target.cluster.server), options.namespace);
  try {
    if (ledger.entries().length === 0) return held("an earlier demo has left nothing");
    await clear(target.api, ledger);
  } finally {
    ledger.close();
  }
}

/** Removes everything that is recorded. @throws {Error} if something stays */
async function clear(api: Api, ledger: Ledger): Promise<void> {
  const why = await removeAll(api, ledger, held);
  if (why !== undefined) throw new Error(`Cannot remove everything: ${why}`);
}

/** Checks the cluster and prints what the demo will do. Creates nothing: the chapters do. */
export async function openContextStage(options: ContextOptions, signal: AbortSignal): Promise<Stage> {
  const { context } = options;
  chapter(`The cluster of the context ${context}`);
  const target = await connectTo(options, signal);
  const { api } = target;
  const ledger = openLedger(ledgerFile(context, target.cluster.server), options.namespace);
  try {
    if (ledger.entries().length > 0) {
      note("An earlier demo has left something here. Removing that first:");
      await clear(api, ledger);
      ledger.close();
    }
    return await stageOn(target, openLedger(ledger.file, options.namespace), options, signal);
  } catch (error) {
    ledger.close();
    throw error;
  }
}

async function stageOn(
  target: Target,
  ledger: Ledger,
  options: ContextOptions,
  signal: AbortSignal,
): Promise<Stage> {
  const { api, globals, loader, cluster: { server } } = target;
  const { context, kubeconfig, namespace, image, runtimeImage } = options;
  const wanted = await hookboxObjects(api, image ?? IMAGE);
  const found = await surveyOf(api, wanted, namespace);
  const plan = planOf(found, { context, namespace, hookbox: wanted });
  await checkRights(api, plan, namespace, context);
  if (plan.creates.length > 0 && image === undefined && loader === undefined) throw noImage(context);
  held(`Kubernetes ${found.version} answers at ${server}`);
  announce(plan, namespace, context);
  const local = `"docker images" lists it on this machine. Nodes of another machine or architecture cannot use it`;
  const advise = (name: string) =>
    /^(docker\.io\/library\/)?hookbox(-runtime)?:demo/.test(name)
      ? `${local}: push an image to a registry, and use --image and --runtime-image.`
      : "Push it to a registry that the nodes can reach, allow the nodes to pull it, or name another one.";
  const check = createPullCheck(() => readPods(api, [namespace]), advise);
  const explain = async () => reasonsOf(await readPods(api, [namespace])).map((line) => `. ${line}`).join("");
  const inNamespace = [...globals, "--namespace", namespace];
  const shell = makeShell(KUBECTL, inNamespace, signal, { seconds: WAIT_SECONDS, check, explain });
  const kubectl = { path: KUBECTL, globals };
  const parts = contextParts({
    ...{ api, kubectl, shell, ledger, plan, loader, image, runtimeImage, advise, signal },
  });
  if (parts.copy !== undefined) copyCheckout();
  return {
    where: { ...kubeconfig === undefined ? {} : { kubeconfig }, context, namespace },
    shell,
    parts,
    missing: {
      ...await runsContainers(api)
        ? {}
        : { containers: "The nodes are simulated: no container runs that could answer." },
      ...runtimeImage ?? loader ? {} : {
        runtime:
          "This chapter needs an image with hookbox's runtime: build it (deploy/runtime/Containerfile), push it, " +
          "and name it with --runtime-image.",
      },
      ...plan.creates.length > 0 || await hasRouter(api) ? {} : {
        router: "This chapter needs the router, which this installation of hookbox lacks.",
      },
      e2b: "This chapter needs a namespace more, so only the demo without --context plays it. For your own cluster, " +
        "see docs/howto/e2b.md.",
    },
    leave: ({ keep }) => leave({ api, ledger, parts, options, keep, loader }),
  };
}

function noImage(context: string): Error {
  return new Error(
    `Cannot choose an image for ${context}: its name is not that of a kind, k3d or minikube cluster, into which the ` +
      "demo could load one. Build an image and push it: docker build -f deploy/Containerfile -t REGISTRY/hookbox:TAG . " +
      "&& docker push REGISTRY/hookbox:TAG. Then start the demo with --image REGISTRY/hookbox:TAG.",
  );
}

function announce({ installsMetacontroller, creates, uses }: Plan, namespace: string, context: string): void {
  for (const sentence of uses) note(sentence);
  const installs = [...installsMetacontroller ? ["Metacontroller"] : [], ...creates.length > 0 ? ["hookbox"] : []];
  if (installs.length > 0) {
    note(`The demo installs ${installs.join(" and ")}, and removes what it installs at the end.`);
  }
  note(`Everything else is in the namespace ${namespace}, which the demo creates and deletes.`);
  note(`All commands below are for the context ${context} and, unless they have -n, for the namespace ${namespace}.`);
}

interface Leaving {
  api: Api;
  ledger: Ledger;
  parts: ContextParts;
  options: ContextOptions;
  keep: boolean;
  loader: Loader | undefined;
}

/** Removes what was created. A failure is printed, not thrown, so that it does not replace that of a chapter. */
async function leave({ api, ledger, parts, options, keep, loader }: Leaving): Promise<void> {
  chapter(keep ? "Everything stays" : "Remove what the demo has created");
  try {
    parts.end();
    if (keep) {
      output(
        `kubectl --context ${shellWord(options.context)} -n ${ledger.namespace} get agents\n${removeCommand(options)}`,
      );
      return;
    }
    const why = await removeAll(api, ledger, held);
    if (why === undefined) held("nothing that the demo has created is left on the cluster");
    else failed(`Not everything is removed: ${why}. To try again: ${removeCommand(options)}`);
    if (why !== undefined) process.exitCode = 1;
    const isBuilt = loader !== undefined && (options.image === undefined || options.runtimeImage === undefined);
    if (isBuilt) {
      note(`Images stay for the next time. To remove them from docker: docker image rm ${IMAGE} ${RUNTIME_IMAGE}`);
    }
  } catch (error) {
    process.exitCode = 1;
    failed(`${(error as Error).message}. To remove the rest when the cluster answers: ${removeCommand(options)}`);
  } finally {
    ledger.close();
  }
}

/** Finds the context and connects to its cluster. @throws {Error} if there is no such context, or no answer */
async function connectTo({ context, kubeconfig }: ContextOptions, signal: AbortSignal): Promise<Target> {
  const file = kubeconfig === undefined ? [] : ["--kubeconfig", kubeconfig];
  const names = (await kubectlConfig([...file, "get-contexts", "-o", "name"], signal)).split(/\r?\n/).filter(Boolean);
  if (!names.includes(context)) {
    const where = kubeconfig ?? "your kubeconfig";
    const list = names.length === 0 ? "it has no context" : `it has ${names.join(", ")}`;
    throw new Error(`Cannot find the context ${context} in ${where}: ${list}. Name another --context or --kubeconfig.`);
  }
  const globals = [...file, "--context", context];
  const loader = loaderOf(context, await providerOf(globals, signal));
  const cluster = await connectCluster({ kubeconfig, context }, process.env).catch((error: unknown) => {
    throw new Error(reportOf(error).lines.join(". "));
  });
  const { api } = cluster;
  const timeout = AbortSignal.any([signal, AbortSignal.timeout(CONNECT_MS)]);
  const answer = await api.send({ method: "GET", path: "/version", signal: timeout }).catch((error: Error): Answer => {
    signal.throwIfAborted();
    const start = loader === undefined ? "Check the address and your network" : `Start the cluster: ${loader.start}`;
    throw new Error(`The cluster of the context ${context} does not answer: ${causeOf(error)}. ${start}.`);
  });
  if (answer.status === 401 || answer.status === 403) {
    throw new Error(
      `Cannot use the cluster of ${context}: ${messageOf(answer)}. Sign in again, and try "kubectl get ns".`,
    );
  }
  return { cluster, api, loader, globals };
}

function causeOf(error: Error): string {
  const { message, cause } = error;
  return message || (cause instanceof Error ? cause.message : String((error as { code?: unknown }).code ?? error.name));
}

async function kubectlConfig(args: string[], signal: AbortSignal): Promise<string> {
  try {
    return (await promisify(execFile)(KUBECTL, ["config", ...args], { signal })).stdout;
  } catch (error) {
    signal.throwIfAborted();
    const { code, stderr = "", message } = error as { code?: unknown; stderr?: string; message: string };
    if (code === "ENOENT") {
      throw new Error("Cannot run kubectl: it is not installed. See https://kubernetes.io/docs/tasks/tools/");
    }
    throw new Error(`Cannot read the kubeconfig: ${stderr.trim() || message}`);
  }
}

/** Returns the provider that the kubeconfig names for the cluster; undefined: it names none. */
async function providerOf(globals: string[], signal: AbortSignal): Promise<string | undefined> {
  const text = await kubectlConfig([...globals, "view", "--minify", "-o", "json"], signal);
  const { clusters } = JSON.parse(text) as {
    clusters?: { cluster?: { extensions?: { extension?: { provider?: unknown } }[] } }[];
  };
  const providers = clusters?.[0]?.cluster?.extensions?.map(({ extension }) => extension?.provider) ?? [];
  return providers.find((one) => typeof one === "string");
}

/** Returns the objects of hookbox's installation, as `hookbox install` applies them to this cluster. */
async function hookboxObjects(api: Api, image: string): Promise<KubeObject[]> {
  const managedFields = await hasMutatingPolicies(api);
  return bundleObjects(renderBundle({ namespace: SYSTEM_NAMESPACE, image, processes: true, managedFields }));
}

async function surveyOf(api: Api, wanted: readonly KubeObject[], namespace: string): Promise<Found> {
  const read = (path: string) => api.send({ method: "GET", path });
  const version = (await read("/version")).body as { gitVersion: string; minor: string };
  const metacontroller = await read(`${CRD_PATH}/compositecontrollers.metacontroller.k8s.io`);
  const controller = await read(pathOf({ resource: "deployments", ...GO_CONTROLLER }));
  const { replicas = 1 } = (controller.body as { spec?: { replicas?: number } }).spec ?? {};
  const nodes = await itemsOf<Node>(api, pathOf({ resource: "nodes" }));
  const classes = await itemsOf<KubeObject>(api, pathOf({ resource: "storageclasses" }));
  const served = new Map<string, string[]>();
  for (const text of readCRDs()) {
    const { metadata: { name } } = parse(text) as KubeObject;
    const crd = await read(`${CRD_PATH}/${name}`);
    if (isOk(crd)) {
      const { versions } = (crd.body as { spec: { versions: { name: string; served: boolean }[] } }).spec;
      served.set(name, versions.filter((one) => one.served).map((one) => one.name));
    }
  }
  const objects = await Promise.all(KINDS.map((resource) => itemsOf(api, pathOf({ resource }))));
  return {
    version: version.gitVersion,
    minor: Number.parseInt(version.minor, 10),
    hasMetacontroller: isOk(metacontroller),
    hookbox: await existingOf(api, wanted),
    served,
    otherController: isOk(controller) && replicas > 0 ? `${GO_CONTROLLER.namespace}/${GO_CONTROLLER.name}` : undefined,
    objects: objects.flat().length,
    hasNamespace: isOk(await read(pathOf({ resource: "namespaces", name: namespace }))),
    hasNodes: nodes.some(({ status }) =>
      status?.conditions?.some((one) => one.type === "Ready" && one.status === "True")
    ),
    hasDefaultStorage: classes.some(({ metadata }) =>
      metadata.annotations?.["storageclass.kubernetes.io/is-default-class"] === "true"
    ),
  };
}

interface Node extends KubeObject {
  status?: { conditions?: { type: string; status: string }[] };
}

/** Returns the items of a list; none if the API server does not serve the kind. */
async function itemsOf<T>(api: Api, path: string): Promise<T[]> {
  const answer = await api.send({ method: "GET", path, query: { limit: "500" } });
  if (answer.status === 404) return [];
  if (!isOk(answer)) throw unreadable(path, answer);
  return (answer.body as { items: T[] }).items;
}

/** Returns whether at least one node is not simulated by KWOK. */
async function runsContainers(api: Api): Promise<boolean> {
  const nodes = await itemsOf<KubeObject>(api, pathOf({ resource: "nodes" }));
  return nodes.some(({ metadata }) => metadata.annotations?.["kwok.x-k8s.io/node"] === undefined);
}

async function hasRouter(api: Api): Promise<boolean> {
  const path = pathOf({ resource: "services", namespace: "agent-sandbox-system", name: "sandbox-router-svc" });
  return isOk(await api.send({ method: "GET", path }));
}

/** @throws {Error} with the first right that is missing */
async function checkRights(api: Api, { creates, installsMetacontroller }: Plan, namespace: string, context: string) {
  const installs = creates.length > 0 || installsMetacontroller;
  const needed = [...installs ? RIGHTS.install : [], ...RIGHTS.always];
  for (const [group, resource] of needed) {
    const answer = await reviewAccess(api, { verb: "create", group, resource, namespace });
    if (!isOk(answer) || isAllowed(answer)) continue;
    throw new Error(
      `Cannot run the demo on ${context}: you may not create ${resource}. ` +
        (installs
          ? "An installation needs the rights of an administrator (ClusterRole cluster-admin). Use such a context, or " +
            "ask an administrator to install hookbox (docs/install.md): the demo then uses it."
          : "Use a context with this right."),
    );
  }
}
