/** Paths, discovery and Status objects of the Kubernetes API, as they are on the wire. @module */
import type { Answer } from "../../kube/api.ts";
import type { ServedResource } from "../store/resources.ts";
import { groupOf, type Resource, StoreError } from "../store/store.ts";

/** The parts of a path; absent parts have no field. */
export interface RequestPath {
  apiVersion: string;
  /** Absent: the path is the version itself, for discovery. */
  plural?: string;
  namespace?: string;
  name?: string;
  subresource?: string;
}

/** The object of a request, as far as its path names it. */
interface About {
  resource?: Resource | undefined;
  name?: string | undefined;
}

/** Subresources of a namespace: all other parts below its name are resources in it. */
const OF_NAMESPACE = ["status", "finalize"];

/** Not a release of Kubernetes: the API in memory follows the behaviour of 1.36. */
const VERSION = { major: "1", minor: "36", gitVersion: "v1.36.0-hookbox.testing" };

/** Parses a path; undefined if it is not a path of the API. */
export function parsePath(path: string): RequestPath | undefined {
  const [, root, ...parts] = path.split("/").map(decodeURIComponent);
  const apiVersion = root === "api" ? parts.shift() : root === "apis" ? parts.splice(0, 2).join("/") : undefined;
  if (!apiVersion || parts.some((part) => part === "")) return undefined;
  const [first, namespace, third = "", ...rest] = parts;
  if (first === "namespaces" && namespace && third && !(OF_NAMESPACE.includes(third) && rest.length === 0)) {
    return { apiVersion, namespace, ...resourceIn([third, ...rest]) };
  }
  return { apiVersion, ...resourceIn(parts) };
}

/** Answers `/version`, `/api`, `/apis` and the lists of one group and version; undefined for any other path. */
export function answerDiscovery(served: readonly ServedResource[], path: string): Answer | undefined {
  if (path === "/version") return { status: 200, body: VERSION };
  if (path === "/api") return { status: 200, body: { kind: "APIVersions", versions: ["v1"] } };
  if (path === "/apis") {
    return { status: 200, body: { kind: "APIGroupList", apiVersion: "v1", groups: groupsOf(served) } };
  }
  const [, groupVersion] = /^\/(?:api|apis)\/(v1|[^/]+\/[^/]+)$/.exec(path) ?? [];
  const resources = served.filter(({ apiVersion }) => apiVersion === groupVersion);
  if (resources.length === 0) return undefined;
  const body = { kind: "APIResourceList", apiVersion: "v1", groupVersion, resources: resources.flatMap(entriesOf) };
  return { status: 200, body };
}

/** Makes the answer for an error of the store. @throws `error` if it is not a StoreError */
export function errorAnswer(error: unknown, about: About): Answer {
  if (!(error instanceof StoreError)) throw error;
  const { status, reason, message, causes } = error;
  return {
    status,
    body: statusObject({ status: "Failure", message, reason, details: details(about, causes), code: status }),
  };
}

/** Makes the answer for a path that is not served: like the API server, without a Status. */
export function notServed(): Answer {
  return { status: 404, body: { message: "404 page not found" } };
}

/** Makes the Status of an `ERROR` event, or of an error that does not come from a store. */
export function failureStatus(code: number, reason: string, message: string): object {
  return statusObject({ status: "Failure", message, reason, code });
}

/** Makes the Status of a completed deletion. */
export function successStatus(about: About, uid: string | undefined): object {
  return statusObject({ status: "Success", details: { ...details(about, []), uid } });
}

function resourceIn([plural, name, subresource]: string[]): Pick<RequestPath, "plural" | "name" | "subresource"> {
  return { ...(plural && { plural }), ...(name && { name }), ...(subresource && { subresource }) };
}

function entriesOf({ plural, kind, namespaced, hasStatus }: ServedResource): object[] {
  const verbs = ["create", "delete", "deletecollection", "get", "list", "patch", "watch"];
  const entry = { name: plural, singularName: kind.toLowerCase(), namespaced, kind, verbs };
  return hasStatus ? [entry, { ...entry, name: `${plural}/status`, verbs: ["get", "patch"] }] : [entry];
}

function groupsOf(served: readonly ServedResource[]): object[] {
  const versions = [...new Set(served.map(({ apiVersion }) => apiVersion))].filter((version) => version.includes("/"));
  const names = [...new Set(versions.map((groupVersion) => groupVersion.split("/")[0]))];
  return names.map((name) => {
    const own = versions.filter((groupVersion) => groupVersion.startsWith(`${name}/`))
      .map((groupVersion) => ({ groupVersion, version: groupVersion.split("/")[1] }));
    return { name, versions: own, preferredVersion: own[0] };
  });
}

function statusObject(fields: object): object {
  return { kind: "Status", apiVersion: "v1", metadata: {}, ...fields };
}

function details({ resource, name }: About, causes: StoreError["causes"]): object {
  const group = resource && groupOf(resource.apiVersion);
  return {
    ...(name && { name }),
    ...(group && { group }),
    ...(resource && { kind: resource.plural }),
    ...(causes.length > 0 && { causes }),
  };
}
