/** Requests over one kept connection: a kubectl for each would cost more than what is asked. @module */
import { create, remove } from "../../dev/bench/load/requests.ts";
import { connect } from "../../packages/kube/connection.ts";
import { answerError, type Api, type ApiRequest, isOk, pathOf } from "../../packages/kube/api.ts";
import { kubeconfigCredentials } from "../../packages/kube/credentials.ts";
import type { Kubectl } from "./kubectl.ts";
import type { Loose } from "./namespace.ts";

const CORE = "/api/v1";
const EXTENSIONS = "/apis/extensions.agents.x-k8s.io/v1beta1";
const KINDS: Record<string, [groupVersion: string, plural: string]> = {
  event: ["/apis/events.k8s.io/v1", "events"],
  networkpolicy: ["/apis/networking.k8s.io/v1", "networkpolicies"],
  persistentvolumeclaim: [CORE, "persistentvolumeclaims"],
  pod: [CORE, "pods"],
  pvc: [CORE, "persistentvolumeclaims"],
  resourcequota: [CORE, "resourcequotas"],
  sandbox: ["/apis/agents.x-k8s.io/v1beta1", "sandboxes"],
  sandboxclaim: [EXTENSIONS, "sandboxclaims"],
  sandboxtemplate: [EXTENSIONS, "sandboxtemplates"],
  sandboxwarmpool: [EXTENSIONS, "sandboxwarmpools"],
  service: [CORE, "services"],
  serviceaccount: [CORE, "serviceaccounts"],
};

/** Requests of one namespace; kinds as kubectl names them, plural or not. Kinds that tests do not know are kubectl's. */
export interface Requests {
  /** Returns undefined if there is no such object. */
  get(kind: string, name: string): Promise<Loose | undefined>;
  list(kind: string): Promise<Loose[]>;
  /** Creates an object as `kubectl apply` does. Returns whether it could: kubectl has words for why not. */
  create(object: Loose): Promise<boolean>;
  /** Merges a patch into an object. Returns whether it could. */
  patch(kind: string, name: string, patch: object): Promise<boolean>;
}

const apis = new Map<string, Promise<Api>>();

/** Connections end with the process. */
function apiOf({ kubeconfig }: Kubectl): Promise<Api> {
  const api = apis.get(kubeconfig) ??
    kubeconfigCredentials(kubeconfig).then((credentials) =>
      connect(credentials, { signal: new AbortController().signal, userAgent: "hookbox-test" })
    );
  apis.set(kubeconfig, api);
  return api;
}

/** Sends a request whose failure has no words here. Returns whether it succeeded. */
async function isDone(cluster: Kubectl, request: ApiRequest): Promise<boolean> {
  try {
    return isOk(await (await apiOf(cluster)).send(request));
  } catch {
    // The API server may be down.
    return false;
  }
}

/** @throws {Error} what the API server says */
export async function createNamespace(cluster: Kubectl, name: string): Promise<void> {
  await create(await apiOf(cluster), { resource: "namespaces" }, { kind: "Namespace", metadata: { name } });
}

/** Does not wait for its end. @throws {Error} what the API server says, unless it is gone */
export async function deleteNamespace(cluster: Kubectl, name: string): Promise<void> {
  await remove(await apiOf(cluster), { resource: "namespaces", name });
}

/** Returns whether there is such a namespace, also while it is being deleted; false where the cluster is gone. */
export async function hasNamespace(cluster: Kubectl, name: string): Promise<boolean> {
  return await isDone(cluster, { method: "GET", path: pathOf({ resource: "namespaces", name }) });
}

/** Makes the requests of one namespace. */
export function requestsOf(cluster: Kubectl, namespace: string): Requests {
  const pathTo = (kind: string, name?: string) => {
    const known = KINDS[kind.toLowerCase()] ?? Object.values(KINDS).find(([, plural]) => plural === kind);
    if (!known) return undefined;
    const [groupVersion, plural] = known;
    return `${groupVersion}/namespaces/${namespace}/${plural}${name === undefined ? "" : `/${name}`}`;
  };
  const read = async (kind: string, name?: string) => {
    const path = pathTo(kind, name);
    if (path === undefined) throw new RangeError(`Cannot read "${kind}": tests know ${Object.keys(KINDS).join(", ")}`);
    const answer = await (await apiOf(cluster)).send({ method: "GET", path });
    if (answer.status === 404 && name !== undefined) return undefined;
    if (answer.status !== 200) throw answerError(`read ${kind} ${name ?? ""}`, answer);
    return answer.body as Loose;
  };
  return {
    get: (kind, name) => read(kind, name),
    list: async (kind) => {
      const { items, apiVersion, kind: listKind } = await read(kind);
      return items.map((item: Loose) => ({ apiVersion, kind: listKind.replace(/List$/, ""), ...item }));
    },
    create: async (object) => {
      const path = pathTo(object.kind);
      // Tests know each kind in one version.
      if (!path?.includes(`/${object.apiVersion}/`)) return false;
      const { annotations = {}, ...metadata } = object.metadata;
      const body = { ...object, metadata: { ...metadata, annotations, namespace } };
      // A later `kubectl apply` removes what is missing from it by what this one had.
      const applied = { "kubectl.kubernetes.io/last-applied-configuration": `${JSON.stringify(body)}\n` };
      return await isDone(cluster, {
        method: "POST",
        path,
        query: { fieldManager: "kubectl-client-side-apply", fieldValidation: "Strict" },
        body: { ...body, metadata: { ...body.metadata, annotations: { ...annotations, ...applied } } },
      });
    },
    patch: async (kind, name, patch) => {
      const path = pathTo(kind, name);
      return path !== undefined && await isDone(cluster, { method: "PATCH", path, body: patch });
    },
  };
}
