/** Applies objects of any kind, by the API server. Decides nothing. @module */
import { type Answer, type Api, isOk, messageOf } from "../../kube/api.ts";
import type { KubeObject } from "../../api/objects/objects.ts";
import { Failure } from "../failure.ts";

/** What became of an object. */
export type Outcome = "created" | "configured" | "unchanged";

/** How to apply. */
export interface ApplyOptions {
  /** Ask what would happen, and change nothing. */
  dryRun: boolean;
  /** Take over fields that others have set. */
  force: boolean;
}

const FIELD_MANAGER = "hookbox-install";

/** Applies objects to an API server. @throws {Failure} from the function that it returns */
export function createApplier(api: Api, { dryRun, force }: ApplyOptions): (object: KubeObject) => Promise<Outcome> {
  const resources = new Map<string, Promise<Resource[]>>();
  const resourceOf = async (object: KubeObject) => {
    const { apiVersion, kind } = object;
    const known = resources.get(apiVersion) ?? discover(api, apiVersion);
    resources.set(apiVersion, known);
    const found = (await known).find((resource) => resource.kind === kind && !resource.name.includes("/"));
    if (!found) throw unserved(object);
    return found;
  };
  return async (object) => {
    const path = pathOfObject(object, await resourceOf(object));
    const before = await api.send({ method: "GET", path });
    const query = {
      fieldManager: FIELD_MANAGER,
      ...dryRun ? { dryRun: "All" } : {},
      ...force ? { force: "true" } : {},
    };
    const after = await api.send({ method: "PATCH", patch: "apply", path, query, body: object });
    // Its namespace would be there by now.
    if (dryRun && after.status === 404) return "created";
    if (!isOk(after)) throw refused(object, after);
    if (before.status === 404) return "created";
    return essence(before.body) === essence(after.body) ? "unchanged" : "configured";
  };
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

/** What is left when all is gone that changes without meaning anything. */
function essence(object: unknown): string {
  const { metadata, status: _, ...rest } = object as KubeObject;
  const { managedFields: __, resourceVersion: ___, generation: ____, ...kept } = metadata;
  return JSON.stringify({ ...rest, metadata: kept });
}
