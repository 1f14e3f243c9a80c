/** An API server that hookbox is installed on: it stores what is applied. @module */
import type { KubeObject } from "../../packages/api/objects/objects.ts";
import type { Answer, Api, ApiRequest } from "../../packages/kube/api.ts";

/** Kinds by group and version. */
export const GROUPS: Record<string, [kind: string, name: string, namespaced: boolean][]> = {
  "/api/v1": [
    ["Namespace", "namespaces", false],
    ["ServiceAccount", "serviceaccounts", true],
    ["Service", "services", true],
  ],
  "/apis/apps/v1": [["Deployment", "deployments", true]],
  "/apis/coordination.k8s.io/v1": [["Lease", "leases", true]],
  "/apis/policy/v1": [["PodDisruptionBudget", "poddisruptionbudgets", true]],
  "/apis/networking.k8s.io/v1": [["NetworkPolicy", "networkpolicies", true]],
  "/apis/admissionregistration.k8s.io/v1": [
    ["ValidatingAdmissionPolicy", "validatingadmissionpolicies", false],
    ["ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings", false],
    ["MutatingAdmissionPolicy", "mutatingadmissionpolicies", false],
    ["MutatingAdmissionPolicyBinding", "mutatingadmissionpolicybindings", false],
  ],
  "/apis/apiextensions.k8s.io/v1": [["CustomResourceDefinition", "customresourcedefinitions", false]],
  "/apis/rbac.authorization.k8s.io/v1": [
    ["ClusterRole", "clusterroles", false],
    ["ClusterRoleBinding", "clusterrolebindings", false],
    ["Role", "roles", true],
    ["RoleBinding", "rolebindings", true],
  ],
  "/apis/metacontroller.k8s.io/v1alpha1": [
    ["CompositeController", "compositecontrollers", false],
    ["DecoratorController", "decoratorcontrollers", false],
  ],
};

/** An API server, what it has stored by path, and what it was asked. */
export interface Server extends Api {
  stored: Map<string, object>;
  requests: ApiRequest[];
  /** Where nothing may be written: answered with 403. */
  forbidden: RegExp;
}

/** Stores what is applied, and deletes; `without` leaves out groups, and kinds. */
export function server(without: string[] = []): Server {
  const stored = new Map<string, object>();
  const requests: ApiRequest[] = [];
  const answer = (request: ApiRequest): Answer => {
    const { method, path, body, query = {} } = request;
    const group = without.includes(path) ? undefined : GROUPS[path]?.filter(([kind]) => !without.includes(kind));
    if (group) {
      return {
        status: 200,
        body: { resources: group.map(([kind, name, namespaced]) => ({ kind, name, namespaced })) },
      };
    }
    if (/\/(sandboxes|sandboxclaims|sandboxwarmpools|sandboxtemplates)$/.test(path)) {
      const items = path.endsWith("/sandboxes") ? [{}] : [];
      return { status: 200, body: { items, metadata: { remainingItemCount: items.length * 6 } } };
    }
    const missing = { status: 404, body: { message: `${path} not found` } };
    if (method === "GET") return stored.has(path) ? { status: 200, body: stored.get(path) } : missing;
    if (api.forbidden.test(path)) return { status: 403, body: { message: `${path} is forbidden` } };
    if (method === "DELETE") {
      if ((body as { dryRun?: string[] }).dryRun === undefined) stored.delete(path);
      return { status: 200, body: {} };
    }
    if (method === "POST") {
      const created = `${path}/${(body as KubeObject).metadata.name}`;
      if (stored.has(created)) return { status: 409, body: { message: `${created} exists` } };
      stored.set(created, body as object);
      return { status: 201, body };
    }
    if (request.patch !== "apply" && !isEndOfConversion(body)) {
      return { status: 415, body: { message: "no merge patch here" } };
    }
    const live = stored.get(path) as CRD | undefined;
    if (request.patch !== "apply") {
      const changed = { ...live, spec: { ...live?.spec, conversion: { strategy: "None" } } };
      stored.set(path, changed);
      return { status: 200, body: changed };
    }
    // What others have set stays, and an API server looks at the whole.
    if (live?.spec?.conversion?.webhook && (body as CRD).spec?.conversion?.strategy === "None") {
      return { status: 422, body: { message: "spec.conversion.webhookClientConfig: Forbidden" } };
    }
    if (query["dryRun"] === undefined) stored.set(path, body as object);
    return { status: 200, body };
  };
  const api: Server = {
    stored,
    requests,
    forbidden: /(?!)/,
    send: (request) => (requests.push(request), Promise.resolve(answer(request))),
    watch: () => Promise.reject(new Error("nothing to watch")),
  };
  return api;
}

interface CRD {
  spec?: { conversion?: { strategy?: string; webhook?: unknown } };
}

function isEndOfConversion(body: unknown): boolean {
  return JSON.stringify(body) === '{"spec":{"conversion":{"strategy":"None","webhook":null}}}';
}

/** Where the CRD of a kind of ours is. */
export const SANDBOXES_CRD = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/sandboxes.agents.x-k8s.io";
