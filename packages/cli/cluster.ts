/** Finds the cluster of a command, and reads objects and names from it. @module */
import { controllerOf, type KubeObject } from "../api/objects/objects.ts";
import { type Api, type ApiRequest, pathOf } from "../kube/api.ts";
import { connect, openText } from "../kube/connection.ts";
import { clusterCredentials } from "../kube/credentials.ts";
import { chooseKubeconfig, type Chosen, kubeconfigPlaces, readContexts } from "../kube/kubeconfig.ts";
import { callAPI } from "../sdk/control/kube.ts";
import { CLAIM, type Kind, KINDS, SANDBOX } from "../summary/kinds.ts";
import type { Cluster, CommandContext, ConnectionOptions } from "./commandcontext.ts";
import { Failure } from "./failure.ts";

/**
 * Finds the kubeconfig: the named file, else the files in `KUBECONFIG`, else `~/.kube/config`.
 *
 * @returns undefined if there is none and this is a Pod, whose ServiceAccount is then used
 * @throws {Failure} if there is none and this is not a Pod
 */
export function findKubeconfig(
  { kubeconfig, context }: ConnectionOptions,
  env: Record<string, string | undefined>,
): Chosen | undefined {
  if (kubeconfig !== undefined) return { path: kubeconfig, context };
  const places = kubeconfigPlaces(env);
  const chosen = chosenOf(places, context);
  if (chosen || (env["KUBERNETES_SERVICE_HOST"] && context === undefined)) return chosen;
  throw new Failure(
    `Cannot find a cluster: there is no ${places.join(" nor ")}`,
    "Name a kubeconfig with --kubeconfig or KUBECONFIG.",
  );
}

function chosenOf(places: readonly string[], context: string | undefined): Chosen | undefined {
  try {
    return chooseKubeconfig(places, context);
  } catch (error) {
    throw new Failure(error instanceof Error ? error.message : String(error));
  }
}

/** User agent of the requests, as the API server's audit log shows it. */
const USER_AGENT = "hookbox-cli";

/**
 * Finds the credentials, and creates the connection; the first request opens it.
 *
 * @throws {Failure} if there are no credentials
 */
export async function connectCluster(
  where: ConnectionOptions,
  env: Record<string, string | undefined>,
): Promise<Cluster> {
  const chosen = findKubeconfig(where, env);
  const credentials = await clusterCredentials({ kubeconfig: chosen?.path, context: chosen?.context })
    .catch((error: Error) => {
      throw new Failure(error.message, "Check --kubeconfig, --context and KUBECONFIG.");
    });
  const never = new AbortController().signal;
  return {
    api: connect(credentials, { signal: never, userAgent: USER_AGENT }),
    read: (path, query, signal) => openText(credentials, { path, query }, { signal, userAgent: USER_AGENT }),
    namespace: where.namespace ?? env["HOOKBOX_NAMESPACE"] ?? credentials.namespace ?? "default",
    server: credentials.server,
    source: chosen
      ? `${chosen.path}${chosen.context ? `, context ${chosen.context}` : ""}`
      : "the Pod's ServiceAccount",
  };
}

/** Which objects to list. */
interface Selection {
  /** Undefined: all namespaces. */
  namespace: string | undefined;
  labelSelector?: string | undefined;
}

/** Reads one object. @throws {SandboxError} if it does not exist or cannot be read */
export async function getObject(api: Api, kind: Kind, namespace: string, name: string): Promise<KubeObject> {
  const path = pathOf({ resource: kind.resource, namespace, name });
  const action = `get ${kind.kind} ${namespace}/${name}`;
  return await callAPI(api, { method: "GET", path, action, object: { kind: kind.kind, namespace, name } });
}

/** Reads a list, sorted by namespace and name. @throws {SandboxError} if it cannot be read */
export async function listObjects(
  api: Api,
  kind: Kind,
  { namespace, labelSelector }: Selection,
): Promise<KubeObject[]> {
  const query: Record<string, string> = { limit: "500", ...labelSelector ? { labelSelector } : {} };
  const request: ApiRequest = { method: "GET", path: pathOf({ resource: kind.resource, namespace }), query };
  const object = { kind: kind.kind, namespace: namespace ?? "", name: "" };
  const objects: KubeObject[] = [];
  for (;;) {
    type List = { items: KubeObject[]; metadata?: { continue?: string }; apiVersion: string };
    const list = await callAPI<List>(api, { ...request, query: { ...query }, action: `list ${kind.resource}`, object });
    // The API server does not set the kind of items in a list.
    for (const item of list.items) objects.push({ ...item, apiVersion: list.apiVersion, kind: kind.kind });
    if (!list.metadata?.continue) return objects;
    query["continue"] = list.metadata.continue;
  }
}

/** Which names to read: of Sandboxes that people use, of other kinds, or of what the options name. */
export type NameSource = "sandboxes" | "namespaces" | "contexts" | "kinds" | { kinds: Kind[] };

/** How long a user who presses Tab has to wait at most, in milliseconds. */
const COMPLETION_TIMEOUT_MS = 1500;
const MAX_NAMES = "500";

/** Reads names for completion, sorted; none if it takes too long or fails. */
export async function readNames(
  context: CommandContext,
  { what, where }: { what: NameSource; where: ConnectionOptions },
): Promise<string[]> {
  try {
    if (what === "kinds") return KINDS.map(({ names }) => names[0] ?? "");
    if (what === "contexts") return contextsOf(context, where);
    const { api, namespace } = await context.connectCluster(where);
    const signal = AbortSignal.timeout(COMPLETION_TIMEOUT_MS);
    const read = async (kind: Kind) => await listed(api, { resource: kind.resource, namespace }, signal);
    const name = ({ metadata }: KubeObject) => metadata.name;
    if (what === "namespaces") return (await listed(api, { resource: "namespaces" }, signal)).map(name).sort();
    if (what !== "sandboxes") return unique((await Promise.all(what.kinds.map(read))).flat().map(name));
    const [claims, sandboxes] = await Promise.all([read(CLAIM), read(SANDBOX)]);
    // Sandboxes of pools and claims are not used by their own names.
    const own = sandboxes.filter(({ metadata }) => controllerOf(metadata) === undefined);
    return unique([...claims, ...own].map(name));
  } catch {
    return [];
  }
}

async function listed(api: Api, path: Parameters<typeof pathOf>[0], signal: AbortSignal): Promise<KubeObject[]> {
  const answer = await api.send({ method: "GET", path: pathOf(path), query: { limit: MAX_NAMES }, signal });
  return answer.status === 200 ? (answer.body as { items: KubeObject[] }).items : [];
}

function contextsOf({ env }: CommandContext, where: ConnectionOptions): string[] {
  const files = where.kubeconfig ? [where.kubeconfig] : kubeconfigPlaces(env);
  return unique(files.flatMap((file) => {
    try {
      return readContexts(file).names;
    } catch {
      return [];
    }
  }));
}

function unique(names: readonly string[]): string[] {
  return [...new Set(names)].sort();
}
