/** What `hookbox install` brings to a cluster, as YAML and as objects. Reads the package's own files, asks nobody. @module */
import { readFileSync } from "node:fs";
import { parseAllDocuments, stringify } from "yaml";
import type { KubeObject } from "../../api/objects/objects.ts";
import { renderManifests } from "../../manifests/render.ts";

/** What to bring. */
export interface BundleOptions {
  /** Undefined: the Services that the controllers name. */
  hooksURL: string | undefined;
  /** Of keeper, binder and router. */
  namespace: string;
}

/** The rights of each process. */
const RIGHTS = {
  keeper: new URL("../../../deploy/keeper/rbac.yaml", import.meta.url),
  binder: new URL("../../../deploy/binder/rbac.yaml", import.meta.url),
  router: new URL("../../../deploy/router/rbac.yaml", import.meta.url),
};
const RBAC_API = "rbac.authorization.k8s.io/v1";
/** What must be there before the rest, in this order; controllers come last, so that what they call for is there. */
const ORDER = ["Namespace", "CustomResourceDefinition", "ServiceAccount", "ClusterRole", "Role"];
const LAST = ["CompositeController", "DecoratorController"];

/** Renders all of it: CRDs, controllers, and the accounts and rights of keeper, binder and router. */
export function renderBundle(options: BundleOptions): string {
  const { hooksURL, namespace } = options;
  const manifests = renderManifests(hooksURL);
  const rights = Object.values(RIGHTS).map((file) => readRights(file, namespace));
  const made = [...accountsOf(namespace), ...bindingsOf(namespace)];
  return [manifests.trimEnd(), ...rights, ...made.map((object) => stringify(object).trimEnd())].join("\n---\n") + "\n";
}

/** Reads them into objects, in the order in which they are to be applied. */
export function bundleObjects(text: string): KubeObject[] {
  const objects = parseAllDocuments(text).map((document) => document.toJS() as KubeObject | null);
  return objects.filter((object) => object !== null).sort((a, b) => rankOf(a) - rankOf(b));
}

function rankOf({ kind }: KubeObject): number {
  if (LAST.includes(kind)) return ORDER.length + 1;
  const rank = ORDER.indexOf(kind);
  return rank < 0 ? ORDER.length : rank;
}

/** Roles belong to the namespace of the process. */
function readRights(file: URL, namespace: string): string {
  const text = readFileSync(file, "utf8");
  return parseAllDocuments(text).map((document) => {
    if (document.get("kind") === "Role") document.setIn(["metadata", "namespace"], namespace);
    return document.toString({ lineWidth: 0, flowCollectionPadding: false }).replace(/^---\n/, "").trimEnd();
  }).join("\n---\n");
}

function accountsOf(namespace: string): object[] {
  return [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } },
    ...Object.keys(RIGHTS).map((name) => ({
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { name: `hookbox-${name}`, namespace },
    })),
  ];
}

function bindingsOf(namespace: string): object[] {
  const bind = (kind: "ClusterRole" | "Role", role: string, ...accounts: string[]) => ({
    apiVersion: RBAC_API,
    kind: `${kind}Binding`,
    metadata: { name: role, ...kind === "Role" ? { namespace } : {} },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind, name: role },
    subjects: accounts.map((name) => ({ kind: "ServiceAccount", name, namespace })),
  });
  return [
    bind("ClusterRole", "hookbox-keeper", "hookbox-keeper"),
    bind("Role", "hookbox-keeper", "hookbox-keeper"),
    // The keeper runs a binder in its own process, unless it is told not to.
    bind("ClusterRole", "hookbox-binder", "hookbox-binder", "hookbox-keeper"),
    bind("Role", "hookbox-binder", "hookbox-binder", "hookbox-keeper"),
    bind("ClusterRole", "hookbox-router", "hookbox-router"),
    bind("ClusterRole", "hookbox-router-reviews", "hookbox-router"),
  ];
}
