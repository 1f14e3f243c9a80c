/** Applies objects of any kind to an API server, and deletes them; protects CRD versions that are in use. @module */
import type { KubeObject } from "../../api/objects/objects.ts";
import { type Answer, type Api, isOk, messageOf } from "../../kube/api.ts";
import { Failure } from "../failure.ts";

/** What happened to an object. */
type ApplyResult = "created" | "configured" | "unchanged";

/** Options of applying objects. */
export interface ApplyOptions {
  /** Only checks what would happen. */
  dryRun: boolean;
  /** Whether to take over fields that other managers have set. */
  force: boolean;
}

const FIELD_MANAGER = "hookbox-install";

/** Returns a function that applies an object. @throws {Failure} from the function that it returns */
export function createApplier(api: Api, { dryRun, force }: ApplyOptions): (object: KubeObject) => Promise<ApplyResult> {
  const pathOf = createPaths(api);
  return async (object) => {
    const path = await pathOf(object);
    if (path === undefined) throw notServed(object);
    const before = await api.send({ method: "GET", path });
    const query = { fieldManager: FIELD_MANAGER, ...dryRun ? { dryRun: "All" } : {} };
    let body = object;
    if (object.kind === "CustomResourceDefinition" && isOk(before)) {
      const [live, wanted] = [before.body as VersionedCRD, object as VersionedCRD];
      checkVersions(live, wanted, force);
      if (force && leavesWebhook(live, wanted)) {
        // An apply cannot remove fields of other managers, and a dry run cannot remove them before. So a dry run keeps
        // the webhook.
        if (dryRun) body = { ...wanted, spec: { ...wanted.spec, conversion: live.spec.conversion } } as VersionedCRD;
        else await endConversion(api, path, query, wanted);
      }
    }
    const forced = force ? { force: "true" } : {};
    const after = await api.send({ method: "PATCH", patch: "apply", path, query: { ...query, ...forced }, body });
    // In a dry run, the namespace is not created, so the API server does not find it.
    if (dryRun && after.status === 404) return "created";
    if (!isOk(after)) throw refused(object, after);
    if (before.status === 404) return "created";
    return essence(before.body) === essence(after.body) ? "unchanged" : "configured";
  };
}

async function endConversion(api: Api, path: string, query: Record<string, string>, crd: VersionedCRD): Promise<void> {
  const body = { spec: { conversion: { strategy: "None", webhook: null } } };
  const answer = await api.send({ method: "PATCH", path, query, body });
  if (!isOk(answer)) throw refused(crd, answer);
}

/**
 * Returns a function that deletes an object, and returns whether it existed. Objects that Helm installed are not
 * deleted.
 *
 * @throws {Failure} from the function that it returns
 */
export function createDeleter(api: Api, dryRun: boolean): (object: KubeObject) => Promise<boolean> {
  const pathOf = createPaths(api);
  return async (object) => {
    const path = await pathOf(object);
    const found = path === undefined ? undefined : await api.send({ method: "GET", path });
    if (path === undefined || found?.status === 404) return false;
    if (!found || !isOk(found)) throw notDeleted(object, found);
    const { annotations = {}, uid } = (found.body as KubeObject).metadata;
    const release = annotations["meta.helm.sh/release-name"];
    if (release !== undefined) {
      const namespace = annotations["meta.helm.sh/release-namespace"] ?? "default";
      const isKept = annotations["helm.sh/resource-policy"] === "keep";
      const remedy = isKept
        ? `"helm uninstall" keeps it, too. If its contents are not needed: kubectl delete ${nameOf(object)}`
        : `Use: helm uninstall ${release} -n ${namespace}`;
      throw new Failure(`Cannot delete ${object.kind} ${object.metadata.name}: it was installed with Helm`, remedy);
    }
    // If a request has a body, the API server ignores these options in the query. A dry run would then delete.
    const options = { propagationPolicy: "Background", preconditions: { uid }, ...dryRun ? { dryRun: ["All"] } : {} };
    const body = { apiVersion: "v1", kind: "DeleteOptions", ...options };
    const answer = await api.send({ method: "DELETE", path, body });
    if (!isOk(answer) && answer.status !== 404) throw notDeleted(object, answer);
    return true;
  };
}

function notDeleted({ kind, metadata }: KubeObject, answer: Answer | undefined): Failure {
  return new Failure(`Cannot delete ${kind} ${metadata.name}: ${answer ? messageOf(answer) : "it cannot be found"}`);
}

/** Returns a function that finds the path of an object; undefined if the API server does not serve its kind. */
export function createPaths(api: Api): (object: KubeObject) => Promise<string | undefined> {
  const resources = new Map<string, Promise<Resource[]>>();
  return async (object) => {
    const { apiVersion, kind } = object;
    const known = resources.get(apiVersion) ?? discover(api, apiVersion);
    resources.set(apiVersion, known);
    const found = (await known).find((resource) => resource.kind === kind && !resource.name.includes("/"));
    return found && pathOfObject(object, found);
  };
}

/** Returns an object's name as kubectl shows it: `deployment.apps/sandbox`. */
export function nameOf({ apiVersion, kind, metadata }: KubeObject): string {
  const [group] = apiVersion.includes("/") ? apiVersion.split("/") : [];
  return `${kind.toLowerCase()}${group ? `.${group}` : ""}/${metadata.name}`;
}

/** Returns whether the API server supports the policy that removes `managedFields`: Kubernetes 1.36 or later. */
export async function hasMutatingPolicies(api: Api): Promise<boolean> {
  return (await discover(api, "admissionregistration.k8s.io/v1")).some(({ kind }) =>
    kind === "MutatingAdmissionPolicy"
  );
}

interface Resource {
  name: string;
  kind: string;
  namespaced: boolean;
}

async function discover(api: Api, apiVersion: string): Promise<Resource[]> {
  const answer = await api.send({
    method: "GET",
    path: `${apiVersion.includes("/") ? "/apis" : "/api"}/${apiVersion}`,
  });
  if (answer.status === 404) return [];
  if (!isOk(answer)) throw new Failure(`Cannot list the kinds of ${apiVersion}: ${messageOf(answer)}`);
  return (answer.body as { resources: Resource[] }).resources;
}

function pathOfObject({ apiVersion, metadata }: KubeObject, { name, namespaced }: Resource): string {
  const scope = namespaced ? `/namespaces/${metadata.namespace ?? "default"}` : "";
  return `${apiVersion.includes("/") ? "/apis" : "/api"}/${apiVersion}${scope}/${name}/${metadata.name}`;
}

function notServed({ apiVersion, kind }: KubeObject): Failure {
  const remedy = apiVersion.startsWith("metacontroller.")
    ? "Install Metacontroller 4.17 or later first: https://metacontroller.github.io/metacontroller/guide/install.html"
    : undefined;
  return new Failure(`Cannot apply ${kind}: the API server does not serve ${apiVersion}`, remedy);
}

function refused(object: KubeObject, answer: Answer): Failure {
  const remedy = answer.status === 409 ? "Use --force to take these fields over." : undefined;
  return new Failure(`Cannot apply ${object.kind} ${object.metadata.name}: ${messageOf(answer)}`, remedy);
}

/** Returns the object without the fields that change on every write. */
function essence(object: unknown): string {
  const { metadata, status: _, ...rest } = object as KubeObject;
  const { managedFields: __, resourceVersion: ___, generation: ____, ...kept } = metadata;
  return JSON.stringify({ ...rest, metadata: kept });
}

/** The fields of a CRD that concern its versions (apiextensions.k8s.io/v1). */
export interface VersionedCRD extends KubeObject {
  spec: {
    conversion?: { strategy?: string; webhook?: { clientConfig?: { service?: { namespace: string; name?: string } } } };
    versions: { name: string; served: boolean; storage: boolean }[];
  };
  status?: { storedVersions?: string[] };
}

/** How to continue to serve v1alpha1. */
export const KEEP_V1ALPHA1 = "apply deploy/v1alpha1, or set v1alpha1.enabled of the chart";

/** Returns the versions of a CRD that `wanted` lacks although they are served, or objects are stored in them. */
export function withdrawnVersions(live: VersionedCRD, wanted: { spec: { versions: { name: string }[] } }): string[] {
  const used = live.spec.versions.filter(({ served, storage }) => served || storage).map(({ name }) => name);
  const all = new Set([...used, ...live.status?.storedVersions ?? []]);
  return [...all].filter((name) => !wanted.spec.versions.some((version) => version.name === name));
}

/** Name of the Service of the hook that converts between versions (deploy/v1alpha1/). */
const CONVERSION = "conversion";

/**
 * Refuses to apply a CRD that would remove versions. With `force`, versions of another controller may be removed if no
 * objects are stored in them: hookbox then takes over its CRDs.
 *
 * @throws {Failure}
 */
function checkVersions(live: VersionedCRD, wanted: VersionedCRD, force: boolean): void {
  const withdrawn = withdrawnVersions(live, wanted);
  if (withdrawn.length === 0) return;
  const versions = withdrawn.join(", ");
  const isStored = withdrawn.some((name) => live.status?.storedVersions?.includes(name));
  const isOurs = live.spec.conversion?.webhook?.clientConfig?.service?.name === CONVERSION;
  if (force && !isStored && !isOurs) return;
  const advice = isStored
    ? `If ${versions} is not needed, migrate the stored objects first.`
    : isOurs
    ? `If ${versions} is not needed: kubectl apply --server-side --force-conflicts -k crds`
    : `If ${versions} is not needed, --force takes over the CRD of the other controller.`;
  throw new Failure(
    `Cannot apply CustomResourceDefinition ${wanted.metadata.name}: it would remove ${versions}, which the cluster ` +
      `${isStored ? "stores" : "serves"}${isStored || isOurs ? "; --force does not change that" : ""}`,
    `To keep ${versions}, ${KEEP_V1ALPHA1}, for the CRDs, then: hookbox install --apply --no-crds. ${advice}`,
  );
}

/** Returns whether `live` names a conversion webhook, but `wanted` does not use one. */
function leavesWebhook(live: VersionedCRD, wanted: VersionedCRD): boolean {
  return live.spec.conversion?.webhook !== undefined && wanted.spec.conversion?.strategy !== "Webhook";
}

/**
 * Returns whether API servers use a hook in this namespace to convert between versions of a CRD. A webhook in another
 * namespace continues to work without hookbox.
 */
export function isConvertedIn({ spec: { conversion } }: VersionedCRD, namespace: string): boolean {
  if (conversion?.strategy !== "Webhook") return false;
  const { namespace: home = namespace } = conversion.webhook?.clientConfig?.service ?? {};
  return home === namespace;
}
