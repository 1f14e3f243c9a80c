/** Finds the cluster of a command, and reads objects and names from it. @module */
import type { PodFact } from "../api/diagnosis/facts.ts";
import { LONGEST_BACK_OFF_SECONDS } from "../api/diagnosis/rules/containers.ts";
import { secondsSince } from "../api/diagnosis/scene.ts";
import { findCondition } from "../api/objects/conditions.ts";
import { NAME_HASH_LABEL } from "../api/objects/keys.ts";
import { podNameOf } from "../api/objects/names.ts";
import { controllerOf, type KubeObject } from "../api/objects/objects.ts";
import type { Sandbox } from "../api/sandbox.ts";
import type { SandboxClaim } from "../api/sandboxclaim.ts";
import { type Api, type ApiRequest, type ObjectPath, pathOf } from "../kube/api.ts";
import { connect, openText } from "../kube/connection.ts";
import { clusterCredentials } from "../kube/credentials.ts";
import { chooseKubeconfig, type Chosen, kubeconfigPlaces, readContexts } from "../kube/kubeconfig.ts";
import { callAPI } from "../sdk/control/kube.ts";
import type { ClaimOrSandbox } from "../sdk/control/readiness.ts";
import { type Around, statusOf } from "../summary/columns.ts";
import { CLAIM, type Kind, KINDS, SANDBOX } from "../summary/kinds.ts";
import type { Cluster, CommandContext, ConnectionOptions } from "./commandcontext.ts";
import { Failure } from "./failure.ts";

/**
 * Finds the kubeconfig: the named file, else the files in `KUBECONFIG`, else `~/.kube/config`.
 *
 * @returns undefined if there is none and this is a Pod, whose ServiceAccount is then used
 * @throws {Failure} if there is none and this is not a Pod
 */
export async function findKubeconfig(
  { kubeconfig, context }: ConnectionOptions,
  env: Record<string, string | undefined>,
): Promise<Chosen | undefined> {
  if (kubeconfig !== undefined) return { path: kubeconfig, context };
  const places = kubeconfigPlaces(env);
  const chosen = await chosenOf(places, context);
  if (chosen || (env["KUBERNETES_SERVICE_HOST"] && context === undefined)) return chosen;
  throw new Failure(
    `Cannot find a cluster: there is no ${places.join(" nor ")}`,
    "Name a kubeconfig with --kubeconfig or KUBECONFIG.",
  );
}

async function chosenOf(places: readonly string[], context: string | undefined): Promise<Chosen | undefined> {
  try {
    return await chooseKubeconfig(places, context);
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
  const chosen = await findKubeconfig(where, env);
  const credentials = await clusterCredentials({ kubeconfig: chosen?.path, context: chosen?.context })
    .catch((error: Error) => {
      throw new Failure(error.message, "Check --kubeconfig, --context and KUBECONFIG.");
    });
  const never = new AbortController().signal;
  return {
    api: connect(credentials, { signal: never, userAgent: USER_AGENT }),
    read: (path, query, signal) => openText(credentials, { path, query }, { signal, userAgent: USER_AGENT }),
    namespace: where.namespace ?? env["HOOKBOX_NAMESPACE"] ?? credentials.namespace ?? "default",
    credentials,
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

/** Lists what users call sandboxes: claims, and Sandboxes that belong neither to a claim nor to a pool. */
export async function listSandboxes(api: Api, selection: Selection): Promise<ClaimOrSandbox[]> {
  const lists = await Promise.all([CLAIM, SANDBOX].map((kind) => listObjects(api, kind, selection)));
  return (lists.flat() as ClaimOrSandbox[]).filter(({ kind, metadata }) => {
    const owner = controllerOf(metadata)?.kind;
    return kind !== "Sandbox" || (owner !== "SandboxClaim" && owner !== "SandboxWarmPool");
  });
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
    if (what === "contexts") return await contextsOf(context, where);
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

async function contextsOf({ env }: CommandContext, where: ConnectionOptions): Promise<string[]> {
  const files = where.kubeconfig ? [where.kubeconfig] : kubeconfigPlaces(env);
  const read = await Promise.all(files.map((file) => readContexts(file).catch(() => undefined)));
  return unique(read.flatMap((contexts) => contexts?.names ?? []));
}

function unique(names: readonly string[]): string[] {
  return [...new Set(names)].sort();
}

/** Up to this many objects are read one by one, all at once, if a short list does not have them; more are listed. */
const FEW = 16;
/** Length of a short list, which takes less time than a second connection. */
const SHORT = "50";

/**
 * Returns the objects around each of the given ones. An object that has been Ready for some minutes, or is suspended,
 * needs none: its own conditions show its status. What the caller may not read is left out.
 */
export async function readAround(
  api: Api,
  kind: Kind["kind"],
  objects: readonly KubeObject[],
  now: Date,
): Promise<(object: KubeObject) => Around> {
  const unsettled = objects.filter((object) => !isSettled(kind, object, now));
  if (unsettled.length === 0) return () => ({});
  const places = unsettled.map((object) => ({
    namespace: object.metadata.namespace ?? "",
    name: kind === "Sandbox" ? object.metadata.name : sandboxOf(object),
    pod: kind === "Sandbox" ? podNameOf(object) : sandboxOf(object),
  }));
  const [pods, sandboxes] = await Promise.all([
    readMany<PodFact>(api, "pods", places.map(({ namespace, pod: name }) => ({ namespace, name }))),
    kind === "Sandbox" ? new Map<string, Sandbox>() : readMany<Sandbox>(api, "sandboxes", places),
  ]);
  return (object) => {
    const { namespace = "" } = object.metadata;
    if (kind === "Sandbox") return { pod: pods.get(`${namespace}/${podNameOf(object)}`) };
    const key = `${namespace}/${sandboxOf(object)}`;
    return { sandbox: sandboxes.get(key), pod: pods.get(key) };
  };
}

/** The Sandbox that is bound to a claim, else the one that would be created for it: it has the claim's name. */
function sandboxOf(claim: KubeObject): string {
  return (claim as SandboxClaim).status?.sandbox?.name ?? claim.metadata.name;
}

function isSettled(kind: Kind["kind"], object: KubeObject, now: Date): boolean {
  if (kind !== "Sandbox" && kind !== "SandboxClaim") return true;
  const status = statusOf(kind, object, now);
  const { conditions } = (object as Sandbox | SandboxClaim).status ?? {};
  const since = findCondition(conditions, "Ready")?.lastTransitionTime;
  // What has been Ready for longer is not in a crash loop.
  if (status?.tone === "good") return secondsSince(since, now) >= LONGEST_BACK_OFF_SECONDS;
  return status?.tone === "off";
}

interface Place {
  namespace: string;
  name: string;
}

async function readMany<T extends { metadata: { namespace?: string | undefined; name: string } }>(
  api: Api,
  resource: "pods" | "sandboxes",
  places: readonly Place[],
): Promise<Map<string, T>> {
  const keyOf = ({ namespace, name }: { namespace?: string | undefined; name: string }) => `${namespace}/${name}`;
  const namespaces = new Set(places.map(({ namespace }) => namespace));
  const [namespace] = namespaces;
  const path = { resource, namespace: namespaces.size === 1 ? namespace : undefined };
  const selector: Record<string, string> = resource === "pods" ? { labelSelector: NAME_HASH_LABEL } : {};
  const isFew = places.length <= FEW;
  const isListed = !isFew || (places.length > 1 && namespaces.size === 1);
  type List = { items: T[]; metadata?: { continue?: string } };
  const list = isListed ? await read<List>(api, path, { ...selector, ...isFew && { limit: SHORT } }) : undefined;
  const found = new Map((list?.items ?? []).map((one) => [keyOf(one.metadata), one]));
  if (!isFew || (list && !list.metadata?.continue)) return found;
  const missing = places.filter((place) => !found.has(keyOf(place)));
  const single = missing.map(({ namespace, name }) => read<T>(api, { resource, namespace, name }));
  for (const one of await Promise.all(single)) if (one) found.set(keyOf(one.metadata), one);
  return found;
}

/** Returns undefined if it cannot be read, whatever the reason: the status is then computed without it. */
async function read<T>(api: Api, path: ObjectPath, query: Record<string, string> = {}): Promise<T | undefined> {
  const answer = await api.send({ method: "GET", path: pathOf(path), query }).catch(() => undefined);
  return answer?.status === 200 ? answer.body as T : undefined;
}
