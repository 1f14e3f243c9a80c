/** Answers discovery requests of the API in memory. @module */
import type { ServedResource } from "../store/resources.ts";
import type { Answer } from "../../kube/api.ts";

/** Not a release of Kubernetes: the API in memory follows the behaviour of 1.36. */
const VERSION = { major: "1", minor: "36", gitVersion: "v1.36.0-hookbox.testing" };

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
