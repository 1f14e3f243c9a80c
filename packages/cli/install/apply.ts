/** Applies objects of any kind to an API server, and deletes them. @module */
import { type Answer, type Api, isOk, messageOf } from "../../kube/api.ts";
import type { KubeObject } from "../../api/objects/objects.ts";
import { Failure } from "../failure.ts";
import { checkVersions, leavesWebhook, type VersionedCRD } from "./crds.ts";

/** What happened to an object. */
export type Outcome = "created" | "configured" | "unchanged";

/** Options of applying objects. */
export interface ApplyOptions {
  /** Only checks what would happen. */
  dryRun: boolean;
  /** Whether to take over fields that other managers have set. */
  force: boolean;
}

const FIELD_MANAGER = "hookbox-install";

/** Returns a function that applies an object. @throws {Failure} from the function that it returns */
export function createApplier(api: Api, { dryRun, force }: ApplyOptions): (object: KubeObject) => Promise<Outcome> {
  const pathOf = createPaths(api);
  return async (object) => {
    const path = await pathOf(object);
    if (path === undefined) throw unserved(object);
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
    if (!found || !isOk(found)) throw undeleted(object, found);
    const { annotations = {}, uid } = (found.body as KubeObject).metadata;
    const release = annotations["meta.helm.sh/release-name"];
    if (release !== undefined) {
      const namespace = annotations["meta.helm.sh/release-namespace"] ?? "default";
      const isKept = annotations["helm.sh/resource-policy"] === "keep";
      const remedy = isKept
        ? `"helm uninstall" keeps it, too. If nobody needs its contents: kubectl delete ${nameOf(object)}`
        : `Use: helm uninstall ${release} -n ${namespace}`;
      throw new Failure(`Cannot delete ${object.kind} ${object.metadata.name}: Helm has brought it`, remedy);
    }
    // If a request has a body, the API server ignores these options in the query. A dry run would then delete.
    const options = { propagationPolicy: "Background", preconditions: { uid }, ...dryRun ? { dryRun: ["All"] } : {} };
    const body = { apiVersion: "v1", kind: "DeleteOptions", ...options };
    const answer = await api.send({ method: "DELETE", path, body });
    if (!isOk(answer) && answer.status !== 404) throw undeleted(object, answer);
    return true;
  };
}

function undeleted({ kind, metadata }: KubeObject, answer: Answer | undefined): Failure {
  return new Failure(`Cannot delete ${kind} ${metadata.name}: ${answer ? messageOf(answer) : "it cannot be found"}`);
}

/** Returns a function that finds the path of an object; undefined if the API server does not serve its kind. */
function createPaths(api: Api): (object: KubeObject) => Promise<string | undefined> {
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
  if (!isOk(answer)) throw new Failure(`Cannot ask what ${apiVersion} has: ${messageOf(answer)}`);
  return (answer.body as { resources: Resource[] }).resources;
}

function pathOfObject({ apiVersion, metadata }: KubeObject, { name, namespaced }: Resource): string {
  const scope = namespaced ? `/namespaces/${metadata.namespace ?? "default"}` : "";
  return `${apiVersion.includes("/") ? "/apis" : "/api"}/${apiVersion}${scope}/${name}/${metadata.name}`;
}

function unserved({ apiVersion, kind }: KubeObject): Failure {
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
