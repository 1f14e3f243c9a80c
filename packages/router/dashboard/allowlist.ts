/**
 * Which requests of the dashboard are passed to the API server, which then checks the user's permissions. Pure.
 * @module
 */

const NAME = "[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?";
const AGENTS = "/apis/agents\\.x-k8s\\.io/v1beta1";
const EXTENSIONS = "/apis/extensions\\.agents\\.x-k8s\\.io/v1beta1";

/** Paths of a collection or one of its objects, in one namespace or in all. */
function objects(base: string, resources: string): RegExp {
  return new RegExp(`^${base}(?:/namespaces/${NAME})?/(?:${resources})(?:/${NAME})?$`);
}
function collection(base: string, resources: string): RegExp {
  return new RegExp(`^${base}/namespaces/${NAME}/(?:${resources})$`);
}
function object(base: string, resources: string): RegExp {
  return new RegExp(`^${base}/namespaces/${NAME}/(?:${resources})/${NAME}$`);
}

const SANDBOX_KINDS = "sandboxclaims|sandboxwarmpools|sandboxtemplates";
const ALLOWED: Record<string, RegExp[]> = {
  GET: [
    objects(AGENTS, "sandboxes"),
    objects(EXTENSIONS, SANDBOX_KINDS),
    // Read by `why`. Secrets and ConfigMaps are not on the list.
    objects("/api/v1", "pods|events|persistentvolumeclaims|resourcequotas|services"),
    objects("/apis/coordination\\.k8s\\.io/v1", "leases"),
    new RegExp(`^/api/v1/(?:nodes|namespaces)(?:/${NAME})?$`),
    new RegExp(`^/apis/storage\\.k8s\\.io/v1/storageclasses(?:/${NAME})?$`),
    new RegExp(`^/api/v1/namespaces/${NAME}/pods/${NAME}/log$`),
  ],
  POST: [collection(AGENTS, "sandboxes"), collection(EXTENSIONS, "sandboxclaims")],
  PATCH: [object(AGENTS, "sandboxes"), object(EXTENSIONS, "sandboxwarmpools")],
  DELETE: [object(AGENTS, "sandboxes"), object(EXTENSIONS, "sandboxclaims")],
};

/**
 * Tells whether a request is on the list.
 *
 * @param path without its query; nothing is decoded, so that an encoded path cannot avoid the check
 */
export function mayPass(method: string, path: string): boolean {
  return Object.hasOwn(ALLOWED, method) && (ALLOWED[method] ?? []).some((pattern) => pattern.test(path));
}
